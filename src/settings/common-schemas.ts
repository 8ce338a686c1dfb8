import { isIP } from 'node:net';
import { z } from 'zod';
import { didYouMean, NAME, NAME_REMEDY } from '../core/model/text.ts';
import { ZONE_REMEDY } from '../core/model/time.ts';
import { ianaOfWindows, usualZoneOf } from '../core/model/zone-names.ts';
import { issueText, message, type Text } from '../messages/message.ts';

/** A chosen name. */
export const name = z.string().regex(NAME, issueText(NAME_REMEDY));

/** A non-empty string. */
export const text = z
  .string()
  .trim()
  .min(1, issueText(message('settings.text')));

/** A mapping with chosen names, returned as a Map so that a name such as `constructor` matches nothing by accident. */
export function mapOf<Value extends z.ZodType>(value: Value, key: z.ZodType<string, string> = name) {
  return z.record(key, value).transform((record) => new Map<string, z.output<Value>>(Object.entries(record)));
}

/** A network in CIDR, or one IP address. A prefix of 0 would include the whole internet. */
export const network = text.refine(
  (written) => {
    const [address = '', prefix, ...more] = written.split('/');
    const family = isIP(address);
    if (family === 0 || address.includes('%') || more.length > 0) return false;
    if (prefix === undefined) return true;
    return /^[1-9]\d{0,2}$/.test(prefix) && Number(prefix) <= (family === 6 ? 128 : 32);
  },
  issueText(message('settings.network')),
);

/** A positive whole number, such as a count or a duration. */
export function wholeNumber(least = 1, most = 1_000_000_000) {
  return z.int().min(least).max(most);
}

/** This host, or a host name without domain in a container network. */
const NEARBY = /^(127(\.\d{1,3}){3}|\[::1\]|[a-z0-9_-]*[a-z_-][a-z0-9_-]*)$/;

/** A URL: https, or http to nearby hosts only, because requests carry tokens. No credentials, query or fragment. */
export const address = z.string().refine(isBaseAddress, issueText(message('settings.url-base')));

/** A URL without trailing slashes, for appending paths. */
export const baseAddress = address.transform((written) => written.replace(/\/+$/, ''));

function isBaseAddress(address: string): boolean {
  const url = URL.parse(address);
  if (url === null || url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && NEARBY.test(url.hostname));
}

/** Decides whether gateways and patients can use a URL: https, or for trials the loopback IP address. */
export function isForOthers(publicUrl: string | null): publicUrl is string {
  return publicUrl !== null && /^(https:|http:\/\/127\.)/.test(publicUrl);
}

/** An IANA time zone in canonical spelling. Each schema caches look-ups, which take half a millisecond. */
export function zone() {
  const asked = new Map<string, string | null>();
  return z.string().transform((written, context) => {
    const canonical = asked.get(written) ?? canonicalZone(written);
    asked.set(written, canonical);
    if (canonical !== null) return canonical;
    context.addIssue({ code: 'custom', message: issueText(zoneRemedy(written)) });
    return z.NEVER;
  });
}

/** Remedy for an empty list. */
export const AT_LEAST_ONE = issueText(message('settings.at-least-one'));

/** A list without duplicates. */
export function distinctList<Value extends z.ZodType>(value: Value) {
  return z
    .array(value)
    .refine((values) => new Set(values).size === values.length, issueText(message('settings.distinct')));
}

/** Returns the remedy for an unknown zone, with a similar zone. */
export function zoneRemedy(written: string): Text {
  const guess = guessZone(written);
  return guess === null ? ZONE_REMEDY : message('settings.guess', { guess });
}

/** Offsets such as +01:00, and `EST`, `MST` and `HST`, are refused, because they have no daylight saving time. */
function canonicalZone(written: string): string | null {
  if (!/^[A-Za-z]/.test(written) || usualZoneOf(written) !== null) return null;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: written }).resolvedOptions().timeZone;
  } catch {
    return null;
  }
}

/**
 * Countries of Europe by the zone of their mainland, with cities that have no zone, in English and in the local language. Zones:
 * `zone1970.tab` of the IANA time zone database, https://data.iana.org/time-zones/tzdb/zone1970.tab. Cities: for Italy the capitals of
 * provinces (Istat, https://www.istat.it/classificazione/codici-dei-comuni-delle-province-e-delle-regioni/), for Switzerland those of
 * cantons, elsewhere those of about 250,000 inhabitants and more (city-timezones 1.3, MIT).
 */
const ZONE_CITIES: readonly (readonly [zone: string, country: string, cities: string])[] = [
  [
    'Europe/Rome',
    'IT',
    `Agrigento, Alessandria, Ancona, Andria, Aosta, Arezzo, Ascoli Piceno, Asti, Avellino, Bari, Barletta, Belluno, Benevento, Bergamo, Biella, Bologna,
    Bolzano, Brescia, Brindisi, Cagliari, Caltanissetta, Campobasso, Carbonia, Carrara, Caserta, Catania, Catanzaro, Cesena, Chieti, Como, Cosenza, Cremona,
    Crotone, Cuneo, Enna, Fermo, Ferrara, Florence, Firenze, Foggia, Forli, Frosinone, Genoa, Genova, Gorizia, Grosseto, Imperia, Isernia, L'Aquila, La Spezia,
    Latina, Lecce, Lecco, Livorno, Lodi, Lucca, Macerata, Mantua, Mantova, Massa, Matera, Messina, Milan, Milano, Modena, Monza, Naples, Napoli, Novara, Nuoro,
    Oristano, Padua, Padova, Palermo, Parma, Pavia, Perugia, Pesaro, Pescara, Piacenza, Pisa, Pistoia, Pordenone, Potenza, Prato, Ragusa, Ravenna,
    Reggio Calabria, Reggio Emilia, Rieti, Rimini, Roma, Rovigo, Salerno, Sassari, Savona, Siena, Sondrio, Syracuse, Siracusa, Taranto, Teramo, Terni, Trani,
    Trapani, Trento, Treviso, Trieste, Turin, Torino, Udine, Urbino, Varese, Venice, Venezia, Verbania, Vercelli, Verona, Vibo Valentia, Vicenza, Viterbo`,
  ],
  [
    'Europe/Berlin',
    'DE',
    `Augsburg, Bielefeld, Bochum, Bonn, Braunschweig, Bremen, Chemnitz, Cologne, Köln, Dortmund, Dresden, Duisburg, Düsseldorf, Essen, Frankfurt,
    Frankfurt am Main, Gelsenkirchen, Hamburg, Hanover, Hannover, Heidelberg, Karlsruhe, Kiel, Leipzig, Mannheim, Munich, München, Münster, Nuremberg, Nürnberg,
    Saarbrücken, Stuttgart, Wiesbaden, Wuppertal`,
  ],
  [
    'Europe/Paris',
    'FR',
    `Bordeaux, Grenoble, Lille, Lyon, Lyons, Marseille, Marseilles, Metz, Montpellier, Nantes, Nice, Rennes, Rouen, Strasbourg, Toulon, Toulouse`,
  ],
  [
    'Europe/Madrid',
    'ES',
    `Alicante, Barcelona, Bilbao, Cordoba, Gijón, Granada, La Coruña, A Coruña, Málaga, Murcia, Palma, San Sebastián, Seville, Sevilla, Valencia, Valladolid,
    Vigo, Zaragoza`,
  ],
  ['Atlantic/Canary', 'ES', 'Las Palmas, Santa Cruz de Tenerife, Tenerife'],
  ['Europe/Lisbon', 'PT', 'Braga, Lisboa, Oporto, Porto'],
  [
    'Europe/London',
    'GB',
    `Belfast, Birmingham, Bournemouth, Bradford, Brighton, Bristol, Cardiff, Coventry, Edinburgh, Glasgow, Kingston upon Hull, Leeds, Leicester, Liverpool,
    Manchester, Middlesbrough, Newcastle, Nottingham, Portsmouth, Reading, Sheffield, Southampton, Southend, Stoke, Sunderland`,
  ],
  ['Europe/Dublin', 'IE', 'Cork, Galway, Limerick, Waterford'],
  [
    'Europe/Zurich',
    'CH',
    `Aarau, Altdorf, Appenzell, Basel, Basle, Bellinzona, Bern, Berne, Biel, Chur, Delémont, Frauenfeld, Fribourg, Geneva, Genève, Ginevra, Glarus, Herisau,
    Lausanne, Liestal, Lucerne, Luzern, Lugano, Neuchâtel, Sankt Gallen, St Gallen, Sarnen, Schaffhausen, Schwyz, Sion, Solothurn, Stans, Winterthur, Zug,
    Zürich, Zuerich`,
  ],
  ['Europe/Vienna', 'AT', 'Graz, Innsbruck, Klagenfurt, Linz, Salzburg, Villach, Wels, Wien'],
  ['Europe/Amsterdam', 'NL', 'Den Haag, Eindhoven, Rotterdam, The Hague, Utrecht'],
  ['Europe/Brussels', 'BE', 'Antwerp, Antwerpen, Bruges, Brugge, Brussel, Bruxelles, Charleroi, Ghent, Gent, Liège'],
  ['Europe/Luxembourg', 'LU', 'Esch-sur-Alzette'],
  ['Europe/Copenhagen', 'DK', 'Aarhus, København'],
  ['Europe/Stockholm', 'SE', 'Gothenburg, Göteborg, Malmö'],
  ['Europe/Oslo', 'NO', 'Bergen, Trondheim'],
  ['Europe/Helsinki', 'FI', 'Espoo, Tampere'],
  [
    'Europe/Warsaw',
    'PL',
    'Białystok, Bydgoszcz, Bytom, Cracow, Gdańsk, Gdynia, Gliwice, Katowice, Kraków, Łódź, Lublin, Poznań, Szczecin, Warszawa, Wrocław',
  ],
  ['Europe/Prague', 'CZ', 'Brno, Ostrava, Praha'],
  ['Europe/Bratislava', 'SK', 'Košice'],
  ['Europe/Budapest', 'HU', 'Debrecen'],
  ['Europe/Ljubljana', 'SI', 'Maribor, Koper'],
  ['Europe/Zagreb', 'HR', 'Split, Rijeka'],
  ['Europe/Athens', 'GR', 'Piraeus, Thessaloniki'],
  ['Europe/Bucharest', 'RO', 'Brașov, București, Cluj-Napoca, Constanța, Craiova, Galați, Iași, Timișoara'],
  ['Europe/Sofia', 'BG', 'Plovdiv'],
  ['Europe/Malta', 'MT', 'Valletta'],
  ['Europe/San_Marino', 'SM', ''],
  ['Europe/Vatican', 'VA', ''],
  ['Europe/Monaco', 'MC', ''],
  ['Europe/Vaduz', 'LI', ''],
];
/** Languages of country names. */
const LANGUAGES = ['en', 'it', 'de', 'fr', 'es'];

/**
 * Guesses the IANA zone for an unknown name by city, country or similar spelling; null without a match. Compares only the part after the
 * last slash: as a whole, `Europe/Milan` resembles `Europe/Malta`.
 */
export function guessZone(written: string): string | null {
  const named = ianaOfWindows(written) ?? usualZoneOf(written);
  if (named !== null) return named;
  const wanted = plain(written);
  const zones = Intl.supportedValuesOf('timeZone');
  const byName = new Map(zones.map((zone) => [plain(zone), zone]));
  for (const [zone, country, cities] of ZONE_CITIES) {
    for (const name of [...cities.split(','), ...countryNames(country)]) {
      if (!byName.has(plain(name)) && plain(name) !== '') byName.set(plain(name), zone);
    }
  }
  return byName.get(wanted) ?? byName.get(didYouMean(wanted, byName.keys()) ?? '') ?? null;
}

/** Returns the names of a country. For several mainland zones, the first in the table applies. */
function countryNames(country: string): string[] {
  return LANGUAGES.flatMap((language) => new Intl.DisplayNames(language, { type: 'region' }).of(country) ?? []);
}

/** Returns the city part without accents, case, blanks and signs. */
function plain(name: string): string {
  const city = name
    .slice(name.lastIndexOf('/') + 1)
    .replaceAll('ł', 'l')
    .replaceAll('Ł', 'L')
    .replaceAll('ø', 'o');
  return city
    .normalize('NFD')
    .replaceAll(/[^\p{L}]/gu, '')
    .toLowerCase();
}

/**
 * Error map of every file check. zod removes the schema from an unknown-key issue, so the message contains the allowed keys. Other zod
 * messages are not used.
 */
export function allowedKeys(issue: z.core.$ZodRawIssue): string {
  if (issue.code !== 'unrecognized_keys' || !(issue.inst instanceof z.ZodObject)) return '';
  return Object.keys(issue.inst.shape).join(' ');
}
