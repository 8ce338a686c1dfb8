import type { VendorErrors } from '../src/connectors/errors.ts';
import { type CodeGroup, codesIn } from '../src/operator/codes/code-group.ts';
import { sampleOf } from '../src/operator/codes/samples.ts';
import { vendorCodesOf } from '../src/operator/codes/vendor-codes.ts';

/** Renders the codes of connectors as a Markdown table. */
export function renderErrors(catalogues: ReadonlyMap<string, VendorErrors>): string {
  const lines = vendorCodesOf(catalogues).map(
    ({ code, whoActs, concerns, message, remedy }) =>
      `| \`${code}\` | ${whoActs} | ${concerns} | ${message} | ${remedy || '–'} |`,
  );
  return ['| code | who acts | concerns | sample message | remedy |', '|---|---|---|---|---|', ...lines].join('\n');
}

/** Renders the codes of a group as a Markdown table, with who must act if the group says so. */
export function renderCodes(group: CodeGroup): string {
  const codes = codesIn(group);
  const hasWho = codes.some(({ whoActs }) => whoActs !== null);
  const head = hasWho ? ['code', 'who acts', 'meaning and remedy'] : ['code', 'meaning and remedy'];
  const lines = codes.map(({ code, whoActs, text }) =>
    row([`\`${code}\``, ...(hasWho ? [whoActs ?? '–'] : []), text.replaceAll('|', '\\|')]),
  );
  const effect = group.effect === undefined ? [] : [group.effect, ''];
  return [...effect, row(head), `|${'---|'.repeat(head.length)}`, ...lines].join('\n');
}

/** Renders a Markdown table with the sample message of each code, sorted. Codes without a message are omitted. */
export function renderSamples(codes: readonly string[]): string {
  const lines = [...new Set(codes)].sort().flatMap((code) => {
    const text = sampleOf(code);
    return text === null ? [] : [`| \`${code}\` | ${text} |`];
  });
  return ['| code | sample message |', '|---|---|', ...lines].join('\n');
}

function row(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}
