import { shared, type VendorErrors } from '../../connectors/errors.ts';
import { connectors } from '../../connectors/registry.ts';
import { MirrorError } from '../../core/model/errors.ts';
import { didYouMean } from '../../core/model/text.ts';
import { message } from '../../messages/message.ts';
import { CODE_GROUPS } from './catalogue.ts';
import { type CodeGroup, codesIn, type DescribedCode } from './code-group.ts';
import { sampleOf } from './samples.ts';
import { ANY, type VendorMeaning, vendorMeaningsOf } from './vendor-codes.ts';

/** Explanation of a code in one part of the product, in Markdown without links. */
export interface Explanation {
  code: string;
  /** The part that reports the code, as a heading of `docs/errors.md`. */
  part: string;
  /** `action required`, `retrying`, `ok`; null for a code that only describes data. */
  whoActs: string | null;
  /** What a user sees, with sample values; null if several messages have the code. */
  example: string | null;
  /** Cause and next step. */
  meaning: string;
  effect: string;
  /** Pages with more, from the folder of the project. */
  see: string[];
}

const EFFECTS: Readonly<Record<string, string>> = {
  'action required': 'It remains until someone acts. Everything that was written before stays as it is.',
  retrying: 'The daemon tries again by itself. Act only if it remains.',
  ok: 'Final: no one must act.',
};
const EFFECTS_OF_TARGETS = {
  record: 'Only this record waits; the other records of the target are written.',
  target: 'The changes of this target wait in its outbox; other targets continue.',
} as const;
/** Heading of the codes of connectors. */
const PART_OF_TARGETS = 'Targets';

/** Returns the codes outside connectors with their parts. */
export function allCodes(): (DescribedCode & { group: CodeGroup })[] {
  return Object.values<CodeGroup>(CODE_GROUPS).flatMap((group) => codesIn(group).map((one) => ({ ...one, group })));
}

/** Loads the errors of each connector by its name, and the errors of any connector. */
export async function errorCatalogues(): Promise<ReadonlyMap<string, VendorErrors>> {
  const catalogues = new Map<string, VendorErrors>([[ANY, shared]]);
  for (const { name, errors } of connectors.values()) if (errors !== undefined) catalogues.set(name, await errors());
  return catalogues;
}

/**
 * Explains a code of messages, logs, pages and the API. A code that several parts report has several explanations.
 * @throws MirrorError `settings`, code `no-such-code`, with a similar code
 */
export async function explainCode(code: string): Promise<Explanation[]> {
  const meanings = vendorMeaningsOf(await errorCatalogues());
  const written = allCodes();
  const explanations = [
    ...written.filter((one) => one.code === code).map(ofWritten),
    ...meanings.filter((one) => one.code === code).map(ofVendors),
  ];
  if (explanations.length > 0) return explanations;
  const similar = didYouMean(
    code,
    [...written, ...meanings].map((one) => one.code),
  );
  throw new MirrorError(message('no-such-code', { code }), {
    actor: 'settings',
    code: 'no-such-code',
    retry: 'never',
    remedy: similar === null ? message('no-such-code.remedy') : message('no-such-code.similar', { code: similar }),
  });
}

function ofWritten({ code, whoActs, text: described, group }: DescribedCode & { group: CodeGroup }): Explanation {
  const { text, see } = withoutLinks(described);
  const example = sampleOf(code);
  const effect = withoutLinks(group.effect ?? EFFECTS[whoActs ?? 'ok']!).text;
  return {
    code,
    part: group.title,
    whoActs,
    example: example === null ? null : plain(example),
    meaning: text,
    effect,
    see,
  };
}

function ofVendors({ code, connectors: names, whoActs, concerns, message, remedy }: VendorMeaning): Explanation {
  const { text, see } = withoutLinks(remedy === '' ? EFFECTS[whoActs]! : remedy);
  const part = names.length === 0 ? PART_OF_TARGETS : `${PART_OF_TARGETS}: ${names.join(', ')}`;
  return { code, part, whoActs, example: plain(message), meaning: text, effect: EFFECTS_OF_TARGETS[concerns], see };
}

/** Returns a text with its links as words, and the pages of the links. */
function withoutLinks(markdown: string): { text: string; see: string[] } {
  const see = [...markdown.matchAll(/\]\(([^)]+)\)/g)].map(([, link = '']) => pageOf(link));
  return { text: plain(markdown.replaceAll(/\[([^\]]+)\]\([^)]+\)/g, '$1')), see: [...new Set(see)] };
}

/** A link leads from `docs/`. */
function pageOf(link: string): string {
  if (link.startsWith('#')) return `docs/errors.md${link}`;
  return link.startsWith('../') ? link.slice(3) : `docs/${link}`;
}

/** Removes the escapes of Markdown tables. */
function plain(markdown: string): string {
  return markdown.replaceAll('\\<', '<');
}
