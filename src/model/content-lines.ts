/** Longest line of iCalendar in octets, without its line break (RFC 5545 section 3.1). */
const MAX_LINE_OCTETS = 75;

/** A text of iCalendar with its lines folded so that none is too long and no character is cut; they may be folded otherwise before. */
export function foldLines(text: string): string {
  return text.replaceAll('\r\n ', '').split('\r\n').map(foldLine).join('\r\n');
}

function foldLine(line: string): string {
  if (Buffer.byteLength(line) <= MAX_LINE_OCTETS) return line;
  let folded = '';
  let octets = 0;
  for (const character of line) {
    const length = Buffer.byteLength(character);
    if (octets + length > MAX_LINE_OCTETS) {
      folded += '\r\n ';
      octets = 1;
    }
    folded += character;
    octets += length;
  }
  return folded;
}
