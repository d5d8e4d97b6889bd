'use strict';
/**
 * Given teams, by what they are about: the rarer mechanics, each with what sets it off and what gets in its way.
 *
 * A theme is a pool from which either side draws six. A set is `species @ item | ability | moves | more`, where more is
 * `tera TYPE`, `gmax`, `level N` or `hp TYPE`, the type of its Hidden Power.
 */

const { Random } = require('./random');

/** @typedef {{formats: string[], sets: string}} Theme */

const SINGLES = 'gen9customgame';
const DOUBLES = 'gen9doublescustomgame';
const TRIPLES = 'gen6triplescustomgame';

/** @param {number[]} generations */
const singles = (...generations) => generations.map((generation) => `gen${generation}customgame`);

/** @type {Record<string, Theme>} */
const THEMES = {
  illusion: {
    formats: [SINGLES, DOUBLES, ...singles(5, 8)],
    sets: `
      zoroark @ lifeorb | illusion | nastyplot, darkpulse, uturn, transform
      zoroarkhisui @ focussash | illusion | shadowball, bittermalice, partingshot, substitute
      zorua @ eviolite | illusion | foulplay, taunt, encore, batonpass
      mew @ leftovers | illusion | transform, roleplay, skillswap, explosion
      hawlucha @ whiteherb | unburden | skyattack, swordsdance, acrobatics, roost
      gothitelle @ ringtarget | shadowtag | worryseed, gastroacid, trick, psychic
      zekrom @ choicescarf | teravolt | boltstrike, outrage, voltswitch, dracometeor | tera Fire
    `,
  },
  transform: {
    formats: [SINGLES, DOUBLES, ...singles(1, 2, 3, 4, 6)],
    sets: `
      ditto @ choicescarf | imposter | transform
      ditto @ quickpowder | limber | transform
      mew @ metalpowder | synchronize | transform, softboiled, mimic, metronome
      smeargle @ leftovers | owntempo | sketch, mimic, transform, substitute
      chansey @ eviolite | naturalcure | transform, seismictoss, softboiled, mimic
      mewtwo @ twistedspoon | pressure | psychic, recover, disable, swift
      alakazam @ kingsrock | synchronize | confusion, kinesis, reflect, counter
    `,
  },
  dynamax: {
    formats: ['gen8customgame', 'gen8doublescustomgame'],
    sets: `
      charizard @ lifeorb | solarpower | flamethrower, airslash, ancientpower, sunnyday | gmax
      snorlax @ sitrusberry | gluttony | bodyslam, earthquake, recycle, rest | gmax
      gengar @ focussash | cursedbody | shadowball, sludgebomb, protect, destinybond | gmax
      grimmsnarl @ lightclay | prankster | spiritbreak, darkestlariat, reflect, thunderwave | gmax
      lapras @ weaknesspolicy | waterabsorb | surf, freezedry, thunder, perishsong | gmax
      coalossal @ weaknesspolicy | steamengine | rockslide, overheat, rapidspin, stealthrock | gmax
      urshifu @ choiceband | unseenfist | wickedblow, closecombat, uturn, protect | gmax
      duraludon @ eviolite | lightmetal | flashcannon, dracometeor, bodypress, metalburst | gmax
      butterfree @ leftovers | compoundeyes | sleeppowder, bugbuzz, hurricane, quiverdance | gmax
      togekiss @ babiriberry | serenegrace | airslash, followme, encore, substitute
      dracovish @ choicescarf | strongjaw | fishiousrend, crunch, psychicfangs, lowkick
      zygarde @ leftovers | powerconstruct | thousandarrows, coil, substitute, dragondance
      ditto @ choicescarf | imposter | transform
      eternatus @ blacksludge | pressure | dynamaxcannon, behemothbash, eternabeam, recover
    `,
  },
  zmoves: {
    formats: ['gen7customgame', 'gen7doublescustomgame'],
    sets: `
      pikachu @ pikaniumz | lightningrod | volttackle, extremespeed, fakeout, encore
      snorlax @ snorliumz | thickfat | gigaimpact, curse, rest, sleeptalk
      mimikyu @ mimikiumz | disguise | playrough, shadowsneak, swordsdance, trickroom
      lycanroc @ lycaniumz | keeneye | stoneedge, accelerock, taunt, stealthrock
      eevee @ eeviumz | adaptability | lastresort, batonpass, stockpile, substitute
      tapukoko @ tapuniumz | electricsurge | naturesmadness, thunderbolt, mirrormove, roost
      kommoo @ kommoniumz | overcoat | clangingscales, closecombat, nobleroar, substitute
      greninja @ darkiniumz | battlebond | darkpulse, watershuriken, powder, matblock
      porygonz @ normaliumz | adaptability | conversion, happyhour, triattack, celebrate
      magearna @ fairiumz | soulheart | geomancy, craftyshield, heartswap, fleurcannon
      comfey @ grassiumz | triage | synthesis, ingrain, aromatherapy, leechseed
      mew @ psychiumz | synchronize | metronome, sleeptalk, mefirst, copycat
      silvally @ fightiniumz | rkssystem | multiattack, naturepower, assist, partingshot
      gengar @ ghostiumz | cursedbody | curse, destinybond, memento, mirrormove
    `,
  },
  megas: {
    formats: ['gen6doublescustomgame', TRIPLES, ...singles(6, 7)],
    sets: `
      charizard @ charizarditex | blaze | flareblitz, dragondance, outrage, roost
      charizard @ charizarditey | blaze | flamethrower, solarbeam, airslash, roost
      kangaskhan @ kangaskhanite | scrappy | fakeout, poweruppunch, return, suckerpunch
      gardevoir @ gardevoirite | trace | hypervoice, psyshock, willowisp, trickroom
      lopunny @ lopunnite | limber | highjumpkick, fakeout, encore, batonpass
      mewtwo @ mewtwonitey | pressure | psystrike, icebeam, aurasphere, recover
      sableye @ sablenite | prankster | willowisp, recover, foulplay, metalburst
      rayquaza @ assaultvest | airlock | dragonascent, extremespeed, earthquake, dracometeor
      groudon @ redorb | drought | precipiceblades, firepunch, stealthrock, roar
      kyogre @ blueorb | drizzle | waterspout, thunder, icebeam, calmmind
      gengar @ gengarite | levitate | perishsong, protect, shadowball, substitute
      slowbro @ slowbronite | regenerator | scald, slackoff, calmmind, trickroom
      sharpedo @ sharpedonite | speedboost | protect, crunch, waterfall, destinybond
      banette @ banettite | frisk | taunt, destinybond, shadowclaw, knockoff
    `,
  },
  ultra: {
    formats: ['gen7customgame', 'gen7doublescustomgame'],
    sets: `
      necrozmaduskmane @ ultranecroziumz | prismarmor | photongeyser, sunsteelstrike, autotomize, morningsun
      necrozmadawnwings @ ultranecroziumz | prismarmor | photongeyser, moongeistbeam, calmmind, trickroom
      necrozma @ solganiumz | prismarmor | photongeyser, sunsteelstrike, rockpolish, swordsdance
      marshadow @ marshadiumz | technician | spectralthief, closecombat, shadowsneak, drainpunch
      pheromosa @ focussash | beastboost | highjumpkick, uturn, icebeam, quiverdance
      celesteela @ leftovers | beastboost | leechseed, heavyslam, protect, autotomize
      zygarde10 @ choiceband | powerconstruct | thousandarrows, outrage, extremespeed, glare
      ditto @ choicescarf | imposter | transform
    `,
  },
  tera: {
    formats: [SINGLES, DOUBLES],
    sets: `
      ogerponwellspring @ wellspringmask | waterabsorb | ivycudgel, hornleech, followme, spikyshield | tera Water
      ogerponhearthflame @ hearthflamemask | moldbreaker | ivycudgel, powerwhip, swordsdance, uturn | tera Fire
      ogerponcornerstone @ cornerstonemask | sturdy | ivycudgel, lowkick, counter, synthesis | tera Rock
      ogerpon @ focussash | defiant | ivycudgel, playrough, encore, trailblaze | tera Grass
      terapagos @ heavydutyboots | terashift | terastarstorm, calmmind, earthpower, rapidspin | tera Stellar
      terapagos @ leftovers | terashift | terastarstorm, roar, protect, meteorbeam | tera Stellar
      dragonite @ lumberry | multiscale | terablast, dragondance, extremespeed, roost | tera Stellar
      gholdengo @ airballoon | goodasgold | makeitrain, shadowball, nastyplot, trick | tera Flying
      palafin @ mysticwater | zerotohero | jetpunch, flipturn, wavecrash, bulkup | tera Water
      volcarona @ safetygoggles | flamebody | quiverdance, terablast, fierydance, morningsun | tera Ghost
      annihilape @ covertcloak | vitalspirit | ragefist, drainpunch, bulkup, taunt | tera Steel
      smeargle @ sitrusberry | moody | terastarstorm, ivycudgel, revelationdance, soak | tera Ghost
    `,
  },
  revival: {
    formats: [SINGLES, DOUBLES],
    sets: `
      pawmot @ focussash | ironfist | revivalblessing, machpunch, nuzzle, finalgambit
      rabsca @ leftovers | telepathy | revivalblessing, trickroom, psychic, lunardance
      smeargle @ sitrusberry | owntempo | revivalblessing, healingwish, explosion, memento
      blissey @ redcard | healer | healpulse, wish, softboiled, lifedew
      houndstone @ lifeorb | sandrush | lastrespects, shadowsneak, explosion, mistyexplosion
      kingambit @ blackglasses | supremeoverlord | kowtowcleave, suckerpunch, selfdestruct, swordsdance
    `,
  },
  gas: {
    formats: [SINGLES, DOUBLES, 'gen8customgame'],
    sets: `
      weezinggalar @ blacksludge | neutralizinggas | strangesteam, willowisp, memento, gastroacid
      weezing @ abilityshield | neutralizinggas | sludgebomb, toxicspikes, painsplit, explosion
      slaking @ choiceband | truant | gigaimpact, earthquake, yawn, slackoff
      regigigas @ leftovers | slowstart | bodyslam, knockoff, rest, sleeptalk
      mimikyu @ redcard | disguise | playrough, shadowsneak, swordsdance, trickroom
      eiscue @ icyrock | iceface | bellydrum, liquidation, hail, icespinner
      arceus @ fireplate | multitype | judgment, recover, calmmind, roar
      landorus @ ejectpack | intimidate | earthquake, uturn, superpower, stealthrock
      torkoal @ heatrock | drought | eruption, rapidspin, yawn, shellsmash
      morpeko @ sitrusberry | hungerswitch | aurawheel, partingshot, protect, fakeout
    `,
  },
  rooms: {
    formats: [SINGLES, DOUBLES, 'gen6customgame', 'gen5triplescustomgame'],
    sets: `
      porygon2 @ eviolite | download | trickroom, wonderroom, magicroom, triattack
      bronzong @ ironball | levitate | trickroom, gravity, gyroball, skillswap
      reuniclus @ roomservice | magicguard | trickroom, psyshock, wonderroom, recover
      starmie @ lifeorb | analytic | gravity, magicroom, thunder, hydropump
      jellicent @ leftovers | waterabsorb | trickroom, waterspout, willowisp, taunt
      landorustherian @ airballoon | intimidate | earthquake, fly, gravity, uturn
      golurk @ laggingtail | klutz | highjumpkick, earthquake, switcheroo, telekinesis
      slowking @ fullincense | owntempo | magiccoat, trickroom, psychicterrain, guardsplit
    `,
  },
  passing: {
    formats: [SINGLES, DOUBLES, ...singles(2, 3, 4, 5, 7)],
    sets: `
      umbreon @ leftovers | synchronize | batonpass, meanlook, curse, wish
      scizor @ metalcoat | technician | batonpass, swordsdance, agility, pursuit
      smeargle @ mentalherb | moody | batonpass, ingrain, aquaring, substitute
      cyclizar @ sitrusberry | regenerator | shedtail, rapidspin, dracometeor, taunt
      orthworm @ leftovers | eartheater | shedtail, bodypress, coil, spikes
      celebi @ whiteherb | naturalcure | batonpass, leechseed, nastyplot, perishsong
      espeon @ lightclay | magicbounce | batonpass, calmmind, substitute, magiccoat
      gliscor @ toxicorb | poisonheal | batonpass, swordsdance, acupressure, protect
      zapdos @ powerherb | pressure | batonpass, thunderbolt, lightscreen, whirlwind
      mew @ choicescarf | synchronize | batonpass, powertrick, confuseray, attract
    `,
  },
  calling: {
    formats: [SINGLES, DOUBLES, ...singles(3, 4, 6, 7, 8)],
    sets: `
      togekiss @ leftovers | serenegrace | metronome, mefirst, copycat, followme
      clefable @ stickybarb | magicguard | metronome, encore, fling, assist
      oricoriosensu @ kingsrock | dancer | revelationdance, quiverdance, featherdance, teeterdance
      oranguru @ choiceband | innerfocus | instruct, psychic, naturepower, afteryou
      mrmime @ flameorb | filter | mimic, encore, copycat, snatch
      smeargle @ lightball | technician | sketch, sleeptalk, mirrormove, spore
      liepard @ ironball | prankster | assist, copycat, encore, fling
      snorlax @ starfberry | immunity | sleeptalk, rest, fling, recycle
      bellossom @ leppaberry | chlorophyll | petaldance, teeterdance, swordsdance, quiverdance
      lilligant @ razorfang | owntempo | petaldance, quiverdance, naturepower, entrainment
    `,
  },
  formes: {
    formats: [SINGLES, DOUBLES, ...singles(7, 8)],
    sets: `
      mimikyu @ lifeorb | disguise | playrough, shadowclaw, swordsdance, substitute
      wishiwashi @ sitrusberry | schooling | liquidation, earthquake, doubleedge, uturn
      aegislash @ weaknesspolicy | stancechange | kingsshield, shadowball, ironhead, swordsdance
      darmanitan @ leftovers | zenmode | flareblitz, bellydrum, substitute, psychic
      darmanitangalar @ choiceband | zenmode | iciclecrash, bellydrum, flareblitz, uturn
      minior @ whiteherb | shieldsdown | shellsmash, acrobatics, powergem, selfdestruct
      palafin @ choiceband | zerotohero | jetpunch, flipturn, wavecrash, zenheadbutt
      morpeko @ chestoberry | hungerswitch | aurawheel, rest, protect, partingshot
      cramorant @ figyberry | gulpmissile | surf, dive, roost, hurricane
      eiscue @ salacberry | iceface | bellydrum, hail, snowscape, liquidation
      castform @ damprock | forecast | weatherball, raindance, sunnyday, hail
      cherrim @ heatrock | flowergift | sunnyday, petaldance, leechseed, sandstorm
      meloetta @ lifeorb | serenegrace | relicsong, closecombat, hypervoice, uturn
      shaymin @ leftovers | naturalcure | seedflare, sleeptalk, rest, leechseed
      zygarde @ leftovers | powerconstruct | thousandarrows, substitute, dragontail, coil
      keldeo @ expertbelt | justified | secretsword, hydropump, calmmind, taunt
      genesect @ burndrive | download | technoblast, uturn, ironhead, shiftgear
      silvally @ ghostmemory | rkssystem | multiattack, partingshot, flamecharge, defog
    `,
  },
  tatsugiri: {
    formats: [DOUBLES],
    sets: `
      dondozo @ leftovers | unaware | orderup, wavecrash, rest, sleeptalk
      tatsugiri @ choicescarf | commander | muddywater, dracometeor, icywind, babydolleyes
      tatsugiridroopy @ focussash | commander | hydropump, dracometeor, taunt, memento
      tatsugiristretchy @ sitrusberry | commander | helpinghand, surf, endeavor, substitute
      dondozo @ safetygoggles | oblivious | orderup, earthquake, protect, curse
      weezinggalar @ blacksludge | neutralizinggas | strangesteam, willowisp, explosion, skillswap
      indeedee @ redcard | psychicsurge | whirlwind, worryseed, skillswap, imprison
      flamigo @ ejectbutton | costar | closecombat, roost, wideguard, roleplay
    `,
  },
  sharing: {
    formats: [DOUBLES, 'gen7doublescustomgame', TRIPLES],
    sets: `
      oranguru @ sitrusberry | symbiosis | instruct, trickroom, foulplay, allyswitch
      florges @ leftovers | symbiosis | moonblast, helpinghand, wish, aromaticmist
      porygon2 @ eviolite | trace | triattack, skillswap, recover, trickroom
      gardevoir @ wellspringmask | trace | hypervoice, skillswap, healpulse, wideguard
      cofagrigus @ rockyhelmet | mummy | bodypress, willowisp, toxic, memento
      runerigus @ colburberry | wanderingspirit | earthquake, shadowclaw, protect, allyswitch
      grafaiai @ focussash | prankster | doodle, skillswap, switcheroo, encore
      flamigo @ ejectpack | costar | bravebird, swordsdance, closecombat, uturn
      passimian @ choicescarf | receiver | closecombat, rockslide, uturn, knockoff
      muk @ blacksludge | powerofalchemy | gunkshot, minimize, knockoff, explosion
      espathra @ mirrorherb | opportunist | luminacrash, calmmind, roost, dazzlinggleam
      audino @ normalgem | healer | hypervoice, healpulse, simplebeam, worryseed
      lilligant @ flyinggem | owntempo | acrobatics, entrainment, quiverdance, helpinghand
    `,
  },
  delayed: {
    formats: [SINGLES, DOUBLES, TRIPLES, ...singles(2, 4, 5)],
    sets: `
      jirachi @ leftovers | serenegrace | futuresight, doomdesire, wish, uturn
      slowking @ lightclay | regenerator | futuresight, chillyreception, teleport, reflect
      politoed @ leftovers | drizzle | perishsong, protect, hypnosis, whirlpool
      celebi @ lifeorb | naturalcure | perishsong, healbell, futuresight, ancientpower
      gengar @ focussash | cursedbody | destinybond, perishsong, grudge, meanlook
      wobbuffet @ custapberry | shadowtag | counter, mirrorcoat, destinybond, encore
      drifblim @ sitrusberry | aftermath | destinybond, healingwish, explosion, yawn
      misdreavus @ eviolite | levitate | grudge, spite, curse, nightmare
      blissey @ leftovers | naturalcure | wish, healingwish, healbell, bestow
      umbreon @ leftovers | synchronize | wish, yawn, curse, moonlight
    `,
  },
  carried: {
    formats: ['gen6doublescustomgame', 'gen5triplescustomgame', TRIPLES, ...singles(5, 7)],
    sets: `
      aerodactyl @ flyinggem | pressure | skydrop, fly, rockslide, tailwind
      hawlucha @ powerherb | unburden | skydrop, bounce, flyingpress, quickguard
      dragonite @ lumberry | multiscale | skydrop, dive, outrage, roost
      golurk @ leftovers | noguard | fly, phantomforce, gravity, smackdown
      garchomp @ rockyhelmet | roughskin | dig, outrage, thrash, protect
      giratina @ griseousorb | pressure | shadowforce, willowisp, roar, rest
      snorlax @ chestoberry | thickfat | rollout, defensecurl, bide, uproar
      miltank @ leftovers | scrappy | iceball, healbell, petaldance, encore
      smeargle @ mentalherb | owntempo | skydrop, telekinesis, ingrain, freezeshock
    `,
  },
  pledges: {
    formats: [DOUBLES, 'gen5doublescustomgame', TRIPLES],
    sets: `
      venusaur @ grassgem | overgrow | grasspledge, leechseed, sleeppowder, worryseed
      charizard @ firegem | blaze | firepledge, fly, willowisp, tailwind
      blastoise @ watergem | torrent | waterpledge, fakeout, followme, aurasphere
      meganium @ leftovers | overgrow | grasspledge, firepledge, waterpledge, helpinghand
      typhlosion @ choicescarf | blaze | firepledge, eruption, waterpledge, protect
      feraligatr @ lifeorb | torrent | waterpledge, round, echoedvoice, fusionbolt
      reshiram @ choicescarf | turboblaze | fusionflare, fusionbolt, round, firepledge
      torterra @ leftovers | overgrow | grasspledge, round, fusionflare, wideguard
    `,
  },
  items: {
    formats: [SINGLES, DOUBLES, ...singles(4, 5, 8)],
    sets: `
      lopunny @ toxicorb | klutz | switcheroo, fling, embargo, substitute
      golett @ flameorb | klutz | fling, trick, earthquake, powersplit
      honchkrow @ leftovers | moxie | embargo, knockoff, thief, substitute
      greedent @ sitrusberry | cheekpouch | stuffcheeks, swallow, stockpile, belch
      farigiraf @ starfberry | cudchew | bugbite, twinbeam, babydolleyes, stuffcheeks
      golisopod @ sitrusberry | emergencyexit | firstimpression, liquidation, leechlife, spikes
      wimpod @ lumberry | wimpout | surf, spikes, struggle, scald
      incineroar @ ejectbutton | intimidate | fakeout, partingshot, flareblitz, knockoff
      corviknight @ redcard | mirrorarmor | bodypress, bravebird, roost, pluck
      garganacl @ ejectpack | purifyingsalt | saltcure, recover, stealthrock, superpower
      espathra @ mirrorherb | opportunist | calmmind, storedpower, roost, lusterpurge
      fluttermane @ boosterenergy | protosynthesis | moonblast, shadowball, perishsong, thunderwave
      ironvaliant @ boosterenergy | quarkdrive | closecombat, moonblast, encore, electricterrain
      kricketune @ choicespecs | technician | bugbuzz, perishsong, stickyweb, uturn
      garchomp @ choicescarf | roughskin | outrage, earthquake, stoneedge, toxic
      azumarill @ choiceband | hugepower | aquajet, playrough, superpower, knockoff
      magnezone @ airballoon | magnetpull | voltswitch, flashcannon, magnetrise, thunderwave
      klefki @ micleberry | magician | thief, recycle, spikes, foulplay
    `,
  },
  trapping: {
    formats: [SINGLES, DOUBLES, ...singles(1, 2, 3, 4, 5)],
    sets: `
      dugtrio @ focussash | arenatrap | earthquake, slash, fissure, sandattack
      gothitelle @ choicescarf | shadowtag | psychic, trick, taunt, torment
      magneton @ leftovers | magnetpull | thunderbolt, disable, supersonic, thunderwave
      wobbuffet @ leftovers | shadowtag | counter, mirrorcoat, encore, safeguard
      dragonite @ leftovers | innerfocus | wrap, agility, hyperbeam, thunderwave
      cloyster @ leftovers | shellarmor | clamp, explosion, spikes, blizzard
      moltres @ leftovers | pressure | firespin, agility, fireblast, hyperbeam
      mew @ leftovers | synchronize | imprison, psychic, taunt, disable
      alakazam @ shedshell | magicguard | psychic, imprison, disable, recover
      spiritomb @ leftovers | pressure | meanlook, spite, torment, grudge
      gengar @ leftovers | levitate | hypnosis, disable, spiderweb, nightshade
    `,
  },
  stalling: {
    formats: [SINGLES, ...singles(1, 2, 3, 4, 7)],
    sets: `
      chansey @ leftovers | naturalcure | substitute, seismictoss, counter, softboiled
      gengar @ leftovers | levitate | substitute, confuseray, mimic, nightshade
      mew @ leftovers | synchronize | bide, rage, haze, metronome
      snorlax @ leftovers | immunity | rest, bellydrum, amnesia, struggle
      porygon @ leftovers | trace | conversion, sharpen, triattack, recover
      exeggutor @ leftovers | chlorophyll | leechseed, sleeppowder, stunspore, explosion
      jolteon @ brightpowder | voltabsorb | thunderwave, pinmissile, focusenergy, mist
      gyarados @ leftovers | intimidate | hyperbeam, thrash, hydropump, roar
      starmie @ leftovers | naturalcure | lightscreen, reflect, minimize, toxic
      tauros @ leftovers | intimidate | skullbash, hyperbeam, leer, horndrill
      shedinja @ focussash | wonderguard | shadowsneak, willowisp, protect, spite
    `,
  },
  weather: {
    formats: [SINGLES, DOUBLES, 'gen3doublescustomgame', 'gen4doublescustomgame', 'gen6customgame'],
    sets: `
      pelipper @ damprock | drizzle | hurricane, weatherball, tailwind, wideguard
      torkoal @ heatrock | drought | eruption, solarbeam, yawn, weatherball
      tyranitar @ smoothrock | sandstream | stoneedge, crunch, dragontail, sandstorm
      ninetalesalola @ lightclay | snowwarning | auroraveil, blizzard, freezedry, encore
      golduck @ leftovers | cloudnine | surf, soak, yawn, hypnosis
      tapulele @ terrainextender | psychicsurge | expandingforce, terrainpulse, naturesmadness, psychicterrain
      rillaboom @ grassyseed | grassysurge | grassyglide, fakeout, uturn, steelroller
      pincurchin @ electricseed | electricsurge | risingvoltage, spikes, recover, icespinner
      hatterene @ mistyseed | magicbounce | mistyexplosion, mistyterrain, dazzlinggleam, trickroom
      parasect @ leftovers | dryskin | spore, leechlife, worryseed, wideguard
      excadrill @ airballoon | sandrush | earthquake, ironhead, rapidspin, swordsdance
      koraidon @ choicescarf | orichalcumpulse | collisioncourse, flareblitz, uturn, scaleshot
      miraidon @ choicespecs | hadronengine | electrodrift, dracometeor, voltswitch, overheat
    `,
  },
  turns: {
    formats: [DOUBLES, 'gen8doublescustomgame', TRIPLES, 'gen4doublescustomgame'],
    sets: `
      amoonguss @ rockyhelmet | regenerator | ragepowder, spore, pollenpuff, protect
      indeedeef @ psychicseed | psychicsurge | followme, helpinghand, expandingforce, allyswitch
      oranguru @ laggingtail | telepathy | instruct, afteryou, quash, trickroom
      sableye @ roseliberry | prankster | quash, encore, disable, willowisp
      hitmontop @ fightinggem | intimidate | wideguard, quickguard, fakeout, triplekick
      lucario @ lifeorb | justified | aurasphere, detect, beatup, followme
      weavile @ expertbelt | pressure | beatup, iceshard, fakeout, icywind
      gastrodon @ leftovers | stormdrain | surf, earthpower, icywind, yawn
      raichu @ lightball | lightningrod | discharge, fakeout, encore, endeavor
      smeargle @ focussash | moody | spotlight, craftyshield, kingsshield, decorate
      dragapult @ choiceband | clearbody | dragondarts, phantomforce, uturn, allyswitch
      gallade @ laxincense | justified | wideguard, sacredsword, storedpower, aromaticmist
    `,
  },
  beams: {
    formats: [SINGLES, ...singles(2, 3, 4, 1)],
    sets: `
      mewtwo @ quickclaw | pressure | psychic, barrier, amnesia, recover
      zapdos @ magnet | pressure | thunder, drillpeck, thunderwave, hiddenpower | hp Ice
      tyranitar @ leftovers | sandstream | hyperbeam, pursuit, rockslide, roar
      miltank @ pinkbow | thickfat | healbell, attract, bodyslam, milkdrink
      unown @ twistedspoon | levitate | hiddenpower | hp Fighting
      skarmory @ sharpbeak | keeneye | whirlwind, curse, rest, sleeptalk
      heracross @ focusband | guts | megahorn, reversal, endure, flail
      marowak @ thickclub | rockhead | swordsdance, earthquake, bonemerang, perishsong
      aerodactyl @ berserkgene | pressure | wingattack, hyperbeam, skyattack, supersonic
      golem @ focussash | sturdy | explosion, magnitude, selfdestruct, rollout
    `,
  },
};

/** @returns {{name: string, format: string}[]} all themes, in all of their formats */
function names() {
  const themes = Object.entries(THEMES);
  const most = Math.max(...themes.map(([, { formats }]) => formats.length));
  /** @type {{name: string, format: string}[]} */
  const list = [];
  for (let n = 0; n < most; n++) {
    for (const [name, { formats }] of themes) if (n < formats.length) list.push({ name, format: formats[n] });
  }
  return list;
}

/**
 * @param {string} name
 * @returns {any[]} the pool of a theme
 */
function pool(name) {
  if (!Object.hasOwn(THEMES, name)) {
    throw new Error(`there are no teams ${name}; there are ${Object.keys(THEMES).join(', ')}`);
  }
  return THEMES[name].sets.trim().split('\n').map(parsed);
}

/** @param {string} line */
function parsed(line) {
  const [who, ability, moves, ...more] = line.split('|').map((part) => part.trim());
  const [species, item] = who.split(' @ ');
  const set = {
    name: '',
    species,
    item,
    ability,
    moves: moves.split(', '),
    nature: 'Serious',
    gender: '',
    evs: { hp: 84, atk: 84, def: 84, spa: 84, spd: 84, spe: 84 },
    ivs: { hp: 31, atk: 31, def: 31, spa: 31, spd: 31, spe: 31 },
    level: 100,
  };
  for (const word of more) Object.assign(set, option(word));
  return set;
}

/** @param {string} text */
function option(text) {
  const [word, value] = text.split(' ');
  switch (word) {
    case 'tera':
      return { teraType: value };
    case 'hp':
      return { hpType: value };
    case 'gmax':
      return { gigantamax: true, dynamaxLevel: 10 };
    case 'level':
      return { level: Number(value) };
    default:
      throw new Error(`a set has no ${word}`);
  }
}

/**
 * @param {string} name of a theme
 * @param {any} dex of the generation that is played
 * @param {number} number of the team
 * @returns {any[]} six of its sets
 */
function given(name, dex, number) {
  const random = new Random(`given ${name} ${number}`);
  const sets = pool(name).flatMap((set) => adapted(set, dex) ?? []);
  return random.shuffled(sets).slice(0, 6).map((set) => ({ ...set, level: random.pick([set.level, set.level, 50]) }));
}

/**
 * @param {any} set
 * @param {any} dex
 * @returns {any} the set with what there is of it in a generation; nothing if that is not enough
 */
function adapted(set, dex) {
  const there = (/** @type {any} */ { exists, gen }) => exists && gen <= dex.gen;
  const moves = set.moves.filter((/** @type {string} */ move) => there(dex.moves.get(move)));
  if (!moves.length || !there(dex.species.get(set.species))) return null;
  return { ...set, moves, item: there(dex.items.get(set.item)) ? set.item : '' };
}

module.exports = { given, names, pool };
