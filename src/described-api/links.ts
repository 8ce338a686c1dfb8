/** A link of a `Link` header. */
export interface WebLink {
  /** Text between the angle brackets; may be relative to the requested URL. */
  target: string;
  /** Relation types in lower case, such as `next`. */
  relations: readonly string[];
}

/** Name of a parameter with a quoted or unquoted value. */
const PARAMETER = /\s*;\s*([!#$%&'*+\-.^_`|~\w]+)\s*(?:=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;,"]*)))?/y;
const BETWEEN = /[\s,]+/y;
const TARGET = /<([^>]*)>/y;
/**
 * Parses a `Link` header (several headers joined by commas are equivalent). A link without `rel` or with a different context (`anchor`)
 * does not describe the answer and is omitted. The first occurrence of a repeated parameter applies.
 * @see RFC 8288 section 3
 */
export function parseLinks(header: string | null): WebLink[] {
  const links: WebLink[] = [];
  const text = header ?? '';
  let at = 0;
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found !== null) at = pattern.lastIndex;
    return found;
  };
  while (at < text.length) {
    // Consumed separately: otherwise a text without a link would be scanned again from each comma.
    take(BETWEEN);
    const target = take(TARGET)?.[1];
    const parameters = new Map<string, string>();
    for (let found = take(PARAMETER); found !== null; found = take(PARAMETER)) {
      const [, name = '', quoted, bare = ''] = found;
      const value = quoted?.replaceAll(/\\(.)/g, '$1') ?? bare;
      if (!parameters.has(name.toLowerCase())) parameters.set(name.toLowerCase(), value);
    }
    const relations = (parameters.get('rel') ?? '').toLowerCase().split(/\s/).filter(Boolean);
    if (target !== undefined && relations.length > 0 && !parameters.has('anchor')) links.push({ target, relations });
    at = afterComma(text, at);
  }
  return links;
}

/** Returns the position after the comma behind a link. Commas in quoted strings and URLs are no separators. */
function afterComma(text: string, from: number): number {
  let within: string | null = null;
  for (let at = from; at < text.length; at += 1) {
    const character = text[at];
    if (character === within) within = null;
    else if (within === '"' && character === '\\') at += 1;
    else if (within === null && character === ',') return at + 1;
    else if (within === null && character === '"') within = '"';
    else if (within === null && character === '<') within = '>';
  }
  return text.length;
}

/** Returns the URL of the next page from a `Link` header, or null. */
export function nextLink(header: string | null): string | null {
  return parseLinks(header).find(({ relations }) => relations.includes('next'))?.target ?? null;
}
