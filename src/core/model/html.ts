import { shown } from '../../messages/shown.ts';

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Escapes text for an HTML element or a quoted attribute. */
export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ESCAPES[character] ?? '');
}

/** HTML that is safe inside other HTML. */
export class Html {
  readonly #text: string;

  /** @param text HTML; for plain text use {@link html} */
  constructor(text: string) {
    this.#text = text;
  }

  toString(): string {
    return this.#text;
  }
}

/** Values for {@link html}: HTML, lists, or text to escape. Null, undefined and false produce nothing. */
export type HtmlPart = Html | string | number | null | undefined | false | readonly HtmlPart[];

/** Template tag that escapes each value except HTML. */
export function html(texts: TemplateStringsArray, ...parts: readonly HtmlPart[]): Html {
  return new Html(texts.map((text, at) => text + partText(parts[at])).join(''));
}

function partText(part: HtmlPart): string {
  if (part === null || part === undefined || part === false) return '';
  if (part instanceof Html) return part.toString();
  return typeof part === 'object' ? part.map(partText).join('') : escapeHtml(shown(String(part)));
}
