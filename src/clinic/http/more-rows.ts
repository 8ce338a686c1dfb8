import { addressIn, type PageAnswer, readCount } from '../../described-api/answers.ts';
import { isJsonObject } from '../../described-api/paths.ts';
import { asFlag, folded } from './rows.ts';

/** Usual names of a next page; any value except none announces one. */
const NEXT = new Set([
  'next',
  'nextlink',
  'nextpage',
  'nexturl',
  'nexthref',
  'nextpageurl',
  'nextcursor',
  'nextpagetoken',
  'nexttoken',
  'continuationtoken',
]);
const HAS_MORE = new Set(['hasmore', 'hasnext', 'hasnextpage', 'morepages']);
/** Members next to the rows that contain such names, `_links` included. */
const PAGING_WORDS = new Set([
  'link',
  'links',
  'meta',
  'metadata',
  'paging',
  'pagination',
  'page',
  'pageinfo',
  'cursors',
]);
/** Headers with the number of a list's rows. */
export const COUNT_HEADERS = ['x-total-count', 'x-total', 'x-total-records', 'x-total-items', 'x-wp-total'];

/**
 * Returns the field or header with which an answer announces more rows in a usual form, whatever the profile defines; null for none.
 * @param rows number of rows so far
 */
export function usualSign({ body, headers }: PageAnswer, rows: number): string | null {
  const header = COUNT_HEADERS.find((name) => Number(headers.get(name) ?? 0) > rows);
  return header === undefined ? usualName(body, '') : `header:${header}`;
}

function usualName(value: unknown, prefix: string): string | null {
  if (!isJsonObject(value)) return null;
  for (const [name, inner] of Object.entries(value)) {
    const [word, path] = [folded(name.replace(/^@odata\./i, '')), `${prefix}${name}`];
    if (HAS_MORE.has(word) ? inner === true : NEXT.has(word) && leadsOn(inner)) return path;
    if (HAS_MORE.has(word) || NEXT.has(word) || !PAGING_WORDS.has(word)) continue;
    const found = Array.isArray(inner) ? (addressIn(inner) === null ? null : path) : usualName(inner, `${path}.`);
    if (found !== null) return found;
  }
  return null;
}

/** A URL, a cursor or a page number, or an object with `href` (as in HAL). */
function leadsOn(value: unknown): boolean {
  if (isJsonObject(value)) return leadsOn(value.href);
  return typeof value === 'number' || (typeof value === 'string' && value !== '');
}

/** Words for further rows, in languages of clinic systems. */
const MORE =
  /next|more(?!over)|further|cursor|contin|token|bookmark|segnalibr|lesezeich|signet|marcador|jeton|altr[aeio]|success|prossim|seguent|segue|ancora|weiter|n(?:ae|a)chst|folgend|mehr|suivant|prochain|encore|siguient|proxim|seguint|volgend|meer|rest(?:o|ant|ano|lich|liche)|remain|mancan|pendin/;
/** Words for a number of rows. */
const TOTAL =
  /total|count|conteggio|anzahl|gesamt|nombre|numero(?!versione)|num(?:ber)?of|records|righe|elementi|risultati|quant|aantal|zeilen/;
const PAGE = /pag|seite|^blatt/;
/** Words for the last page, where `false` announces more. */
const LAST = /last|ultim|letzte|derni|complet|finit|finished|vollstand/;
/** Words for other values: they say nothing about further rows. */
const OTHER =
  /^(?:ok|id|uid|uuid|esito|status|stato|state|code|codice|type|version|versione|api.*|rc|success|successo|successful)$|(?:id|code|codice|key|guid|at|on|ms|date|data|time|url|version|versione)$|prev|preced|vorig|self|first|prim[ao]|erste|size|dimension|grosse|taille|tamano|limit|perpage|perpagina|max|offset|skip|start|inizio|from|since|millis|second|took|elapsed|durat|durata|tempo|tiempo|year|anno|jahr|annee|port$|rate|quota|ttl|expir|scad|csrf|access|session|auth|sort|order|valid|active|attiv|enabled|abilitat|cached|deprecat|read(?:only)|filter|zone|zona|locale|lang|lingua|tenant|agenda|clinic|sede|studio|user|utente|appointment|trace|request|schema|context|sync|delta|build|server/;
const YES = new Set(['j', 'ja', 'oui', 'o', 'sim', 'da', 'ok']);
const NONE = new Set(['', 'n', 'no', 'none', 'null', 'false', 'nein', 'non', 'nee', 'nessuno', 'nessuna', '0', '-']);
const DATE = /^\d{4}-\d\d-\d\d|^\d\d[/.]\d\d[/.]\d{4}|^\w{3}, \d/;
/** Longer paths are no paging. */
const DEEPEST = 4;
const LARGEST_COUNT = 10_000_000;

/** What an answer was asked for, and how many rows came. */
interface Seen {
  rows: number;
  /** Number of pages so far; null for an unpaged list. A paged list has numbers of its own, so that only named ones are signs. */
  pages: number | null;
  asked: URL | null;
  ignored: ReadonlySet<string>;
}

/**
 * Returns the field outside the rows that says, in any language and wrapper, that a list lacks rows: a token or link, a flag, or a number
 * above the count of rows or pages. Null for none. Repetitions of the request, page 1, ids, times and empty values say nothing.
 * @param so far: number of rows, and of pages (null for an unpaged list)
 * @param ignored paths that say nothing about further rows
 */
export function anySign(
  answer: PageAnswer,
  { rows, pages }: Pick<Seen, 'rows' | 'pages'>,
  ignored: readonly string[],
): string | null {
  const seen: Seen = { rows, pages, asked: URL.parse(answer.url ?? ''), ignored: new Set(ignored) };
  const range = readCount(answer.headers.get('content-range'));
  if (range !== null && range > rows && !seen.ignored.has('header:content-range')) return 'header:content-range';
  const usual = usualSign(answer, rows);
  if (usual !== null && !seen.ignored.has(usual)) return usual;
  return signIn(answer.body, seen, '', 1);
}

function signIn(value: unknown, seen: Seen, prefix: string, depth: number): string | null {
  if (!isJsonObject(value) || depth > DEEPEST) return null;
  const hasRows = seen.pages === null && (depth === 1 || Object.values(value).some(Array.isArray));
  for (const [name, inner] of Object.entries(value)) {
    const path = `${prefix}${name}`;
    if (seen.ignored.has(path)) continue;
    const word = plainWord(name);
    if (saysMore(word, isJsonObject(inner) && MORE.test(word) ? inner.href : inner, seen, hasRows)) return path;
    const found = /rate|quota|error|prev|self|first/.test(word) ? null : signIn(inner, seen, `${path}.`, depth + 1);
    if (found !== null) return found;
  }
  return null;
}

function plainWord(name: string): string {
  const bare = name
    .replace(/^@?odata\./i, '')
    .normalize('NFD')
    .replace(/\p{M}/gu, '');
  return folded(bare);
}

function saysMore(word: string, value: unknown, seen: Seen, hasRows: boolean): boolean {
  if (value === null || value === undefined || isEcho(value, seen.asked)) return false;
  const isOther = OTHER.test(word) && !/^(?:next|total|has|prossim|altr)/.test(word);
  if (typeof value === 'boolean') {
    if (LAST.test(word)) return !value;
    return value && !isOther && (hasRows || MORE.test(word));
  }
  if (typeof value === 'number') return countsMore(word, value, seen, isOther ? 'other' : hasRows ? 'any' : 'named');
  if (typeof value !== 'string') return false;
  const text = value.trim();
  if (TOTAL.test(word) && !isOther && /^\d+$/.test(text)) return countsMore(word, Number(text), seen, 'named');
  if (LAST.test(word)) return asFlag(text) === false;
  if (NONE.has(text.toLowerCase()) || DATE.test(text)) return false;
  const says = asFlag(text) === true || YES.has(text.toLowerCase());
  if (!isOther && (MORE.test(word) || (says && hasRows && !/^\d/.test(text)))) return true;
  return !/prev|preced|vorig|self|first|prim[ao]/.test(word) && leadsElsewhere(text, seen.asked);
}

function countsMore(word: string, value: number, { rows, pages }: Seen, reach: 'other' | 'any' | 'named'): boolean {
  if (reach === 'other' || !Number.isSafeInteger(value) || value <= 0) return false;
  if (PAGE.test(word)) return value > (pages ?? 1);
  if (TOTAL.test(word)) return value > rows;
  if (MORE.test(word)) return true;
  return reach === 'any' && value > rows && value <= LARGEST_COUNT;
}

function isEcho(value: unknown, asked: URL | null): boolean {
  const text = String(value);
  return text !== '' && [...(asked?.searchParams.values() ?? [])].some((one) => one === text);
}

/** Returns whether a link leads to the same list with another query, apart from a size and page 0 or 1. */
function leadsElsewhere(text: string, asked: URL | null): boolean {
  if (asked === null || !/^(?:https?:\/\/|\/|\?)/i.test(text)) return false;
  const link = URL.parse(text, asked.href);
  if (link === null || !link.pathname.endsWith(asked.pathname)) return false;
  return [...link.searchParams].some(
    ([name, value]) =>
      !asked.searchParams.getAll(name).includes(value) && !/^[01]?$/.test(value) && !OTHER.test(plainWord(name)),
  );
}
