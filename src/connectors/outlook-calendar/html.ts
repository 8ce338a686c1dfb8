/** Characters that HTML must write otherwise, by name. */
const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' };

/**
 * The text of a body that Exchange keeps as HTML: what was sent as text comes back wrapped in a page, with breaks for lines.
 * Only what Exchange makes of plain text is understood; a body that a person formatted reads as its bare text.
 */
export function htmlToText(html: string): string {
  const visible = html.replace(/<!--[\s\S]*?-->|<(head|style|script|title)\b[\s\S]*?<\/\1\s*>/gi, '');
  return visible
    .replace(/\s*[\r\n]\s*/g, ' ')
    .replace(/ ?(?:<br\b[^>]*>|<\/(?:p|div|tr|li|h[1-6])\s*>) ?/gi, '\n')
    .replace(/<[^>]*>/g, '')
    .replace(/&(?:#(\d+)|#x([0-9a-f]+)|([a-z]+));/gi, toCharacter);
}

function toCharacter(entity: string, decimal?: string, hexadecimal?: string, name?: string): string {
  if (name !== undefined) return ENTITIES[name.toLowerCase()] ?? entity;
  const code = decimal === undefined ? Number.parseInt(hexadecimal ?? '', 16) : Number(decimal);
  return code <= 0x10_ff_ff ? String.fromCodePoint(code) : entity;
}
