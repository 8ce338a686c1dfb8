/** A link of a Markdown document, as written. */
export interface Link {
  /** `../a.md#part`, `#part`, `https://…`. */
  readonly to: string;
  /** From 1. */
  readonly line: number;
}

/** Returns links and images of a document, including references, but not in code. */
export function linksIn(markdown: string): Link[] {
  return withoutCode(markdown)
    .split('\n')
    .flatMap((text, index) =>
      [
        ...text.matchAll(
          /\]\(\s*<?([^)\s>]*)>?(?:\s+"[^"]*")?\s*\)|^ {0,3}\[[^\]]+\]:\s*<?([^\s>]+)|<(https?:[^>]*)>/g,
        ),
      ].map(([, inline, reference, bare]) => ({ to: inline ?? reference ?? bare ?? '', line: index + 1 })),
    );
}

/** Returns the anchors of a document's headings like GitHub: a second heading with equal text gets the suffix `-1`. */
export function anchorsIn(markdown: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, heading = ''] of withoutFences(markdown).matchAll(/^#{1,6} (.+)$/gm)) {
    const anchor = heading
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .trim()
      .replaceAll(/[^\p{L}\p{M}\p{N}\p{Pc} -]/gu, '')
      .replaceAll(' ', '-');
    let number = 0;
    while (anchors.has(number === 0 ? anchor : `${anchor}-${number}`)) number += 1;
    anchors.add(number === 0 ? anchor : `${anchor}-${number}`);
  }
  return anchors;
}

/** Returns the fault in the form of an external URL, or null. The URL is not requested. */
export function addressFault(address: string): string | null {
  if (!URL.canParse(address)) return 'is not a URL';
  const { protocol, hostname, username } = new URL(address);
  if (protocol !== 'https:') return 'is not https';
  if (username !== '') return 'contains a user name';
  if (!/^[a-z0-9-]+(\.[a-z0-9-]+)+$/.test(hostname)) return 'names no public host';
  return /[.,;:]$/.test(address) ? 'has punctuation at the end' : null;
}

function withoutCode(markdown: string): string {
  return withoutFences(markdown).replaceAll(/(`+)(?!`)[^\n]*?[^`]\1(?!`)/g, (code) => ' '.repeat(code.length));
}

/** Blocks of code become as many empty lines. */
function withoutFences(markdown: string): string {
  return markdown.replaceAll(/^( *)(```+|~~~+)[^\n]*\n[\s\S]*?^ *\2 *$/gm, (block) => block.replaceAll(/[^\n]/g, ''));
}
