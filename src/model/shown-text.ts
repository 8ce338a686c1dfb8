/** Any character that leaves a trace on a screen: none that controls, joins, spaces or fills (U+2800 is an empty Braille cell). */
const VISIBLE = /[^\p{Cc}\p{Cf}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/u;

const ELLIPSIS = '…';

/** Whether a person sees anything of a text. */
export function isVisible(text: string): boolean {
  return VISIBLE.test(text);
}

/**
 * A text of at most so many UTF-16 code units. One that is cut ends with an ellipsis, and no character that a person sees as one is cut
 * in two.
 */
export function shortened(text: string, most: number): string {
  if (text.length <= most) return text;
  let end = 0;
  for (const { index, segment } of new Intl.Segmenter().segment(text)) {
    if (index + segment.length > most - ELLIPSIS.length) break;
    end = index + segment.length;
  }
  return `${text.slice(0, end).trimEnd()}${ELLIPSIS}`;
}
