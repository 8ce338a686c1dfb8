/** Characters that HTML must escape, by entity name. */
const ENTITIES: ReadonlyMap<string, string> = new Map([
  ['amp', '&'],
  ['lt', '<'],
  ['gt', '>'],
  ['quot', '"'],
  ['apos', "'"],
  ['nbsp', ' '],
]);

/** Elements with invisible content. */
const HIDDEN = /<(head|style|script|title)\b/iy;
/** Tags that start a new line. */
const BREAK = /<(?:br\b|\/(?:p|div|tr|li|h[1-6])\s*>)/iy;

/**
 * Returns the text of an HTML body. Exchange converts a plain text body to a page with breaks for lines. Only Exchange's conversion is
 * reversed; a body that a user formatted is reduced to its text. The function needs one pass for any input.
 */
export function htmlToText(html: string): string {
  const visible = withoutHidden(html);
  const lines: string[] = [];
  let line = '';
  let isAfterBreak = false;
  for (let at = 0; at < visible.length; ) {
    const tagAt = indexOr(visible, '<', at, visible.length);
    if (tagAt > at) {
      const piece = visible.slice(at, tagAt).replaceAll(/\s+/g, (space) => (/[\r\n]/.test(space) ? ' ' : space));
      line += isAfterBreak && piece.startsWith(' ') ? piece.slice(1) : piece;
    }
    const end = visible.indexOf('>', tagAt);
    if (end < 0) line += visible.slice(tagAt);
    isAfterBreak = end >= 0 && matchesAt(BREAK, visible, tagAt);
    if (isAfterBreak) {
      lines.push(line.endsWith(' ') ? line.slice(0, -1) : line);
      line = '';
    }
    at = end < 0 ? visible.length : end + 1;
  }
  return [...lines, line].join('\n').replaceAll(/&(?:#(\d+)|#x([0-9a-f]+)|([a-z]+));/gi, toCharacter);
}

/** Removes comments and invisible elements. An element without an end tag is kept. */
function withoutHidden(html: string): string {
  const endless = new Set<string>();
  let visible = '';
  let from = 0;
  for (let at = html.indexOf('<'); at >= 0; at = html.indexOf('<', Math.max(at + 1, from))) {
    HIDDEN.lastIndex = at;
    const name = html.startsWith('<!--', at) ? '--' : HIDDEN.exec(html)?.[1]?.toLowerCase();
    if (name === undefined || endless.has(name)) continue;
    const end = endOf(html, name, at);
    if (end === null) endless.add(name);
    else {
      visible += html.slice(from, at);
      from = end;
    }
  }
  return visible + html.slice(from);
}

function endOf(html: string, name: string, from: number): number | null {
  const ending = name === '--' ? /-->/g : new RegExp(`</${name}\\s*>`, 'gi');
  ending.lastIndex = from;
  return ending.exec(html) === null ? null : ending.lastIndex;
}

function indexOr(text: string, sign: string, from: number, otherwise: number): number {
  const at = text.indexOf(sign, from);
  return at < 0 ? otherwise : at;
}

function matchesAt(pattern: RegExp, text: string, at: number): boolean {
  pattern.lastIndex = at;
  return pattern.test(text);
}

function toCharacter(entity: string, decimal?: string, hexadecimal?: string, name?: string): string {
  if (name !== undefined) return ENTITIES.get(name.toLowerCase()) ?? entity;
  const code = decimal === undefined ? Number.parseInt(hexadecimal ?? '', 16) : Number(decimal);
  return code <= 0x10_ff_ff ? String.fromCodePoint(code) : entity;
}
