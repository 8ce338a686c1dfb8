const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** A text as it stands in HTML, within an element or a quoted attribute. */
export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ESCAPES[character] ?? '');
}

/** A piece of HTML that is safe to be put into other HTML as it is. */
export class Html {
  readonly #text: string;

  /** @param text HTML, not text: whoever makes one of a text uses {@link html} */
  constructor(text: string) {
    this.#text = text;
  }

  toString(): string {
    return this.#text;
  }
}

/** What {@link html} takes between its texts: HTML as it is, a list of it, text that is escaped; nothing for null, undefined and false. */
export type HtmlPart = Html | string | number | null | undefined | false | readonly HtmlPart[];

/** HTML in which all that is put in is escaped, but for other HTML: as the tag of a template. */
export function html(texts: TemplateStringsArray, ...parts: readonly HtmlPart[]): Html {
  return new Html(texts.map((text, at) => text + partText(parts[at])).join(''));
}

function partText(part: HtmlPart): string {
  if (part === null || part === undefined || part === false) return '';
  if (part instanceof Html) return part.toString();
  return typeof part === 'object' ? part.map(partText).join('') : escapeHtml(String(part));
}
