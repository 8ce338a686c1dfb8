import { clinicAddress } from '../../../documents/document.ts';
import type { TenantDocument } from '../../../features/managed-tenants/managed-tenants.ts';
import { type Html, html } from '../../../model/html.ts';
import type { ConfigurationFault } from '../../../settings/faults.ts';
import type { PageContext } from '../context.ts';
import { ADD_CLINIC_PATH } from '../navigation.ts';
import { copyable, csrfField, hiddenFields, section, table } from '../parts.ts';
import { CONFIGURATION } from '../texts/configuration.ts';

/** A document as somebody writes it on a page. */
export interface Draft {
  /** Null for a clinic that is added: its id is one of the fields. */
  document: TenantDocument | null;
  tenant: string;
  yaml: string;
}

/** Where the forms of a draft lead to. */
function addressOf({ document, tenant }: Draft): string {
  return document === null ? ADD_CLINIC_PATH : clinicAddress(tenant, '/configuration');
}

/** The document, to be changed and checked. */
export function renderEditor(context: PageContext, draft: Draft): Html {
  const words = CONFIGURATION[context.language];
  const { document, tenant, yaml } = draft;
  const id =
    document === null
      ? html`<p class="field"><label for="tenant">${words.id}</label><input id="tenant" name="tenant" required maxlength="41" pattern="[a-z0-9][a-z0-9\\-]*" value="${tenant}"></p>`
      : hiddenFields({ revision: document.revision ?? '' });
  const rows = Math.min(Math.max(yaml.split('\n').length + 2, 12), 40);
  return html`<form class="stack" method="post" action="${addressOf(draft)}">${csrfField(context.visitor)}${id}<p class="document"><label for="yaml">${words.document}</label><textarea id="yaml" name="yaml" required spellcheck="false" wrap="off" rows="${rows}">
${yaml}</textarea></p><p><button class="button main" name="step" value="check">${words.check}</button></p></form>`;
}

/** All that is wrong, each with its line and its field. */
export function renderFaults(context: PageContext, faults: readonly ConfigurationFault[]): Html {
  const words = CONFIGURATION[context.language];
  const columns = [words.field, words.line, words.message, words.remedy];
  const rows = faults.map(({ line, path, message, remedy }) => ({
    cells: [html`<code>${path}</code>`, line === null ? null : String(line), message, remedy],
  }));
  const heading = words.faults(faults.length);
  return html`<div class="notice act" role="alert"><p>${heading}</p></div><div lang="en">${table(heading, columns, rows)}</div>`;
}

/** What would change, and the button that saves it. @param reason where a reason is given */
export function renderConfirmation(
  context: PageContext,
  draft: Draft,
  secrets: readonly { name: string; isKept: boolean }[],
  reason: Html | null,
): Html {
  const words = CONFIGURATION[context.language];
  const { document, tenant, yaml } = draft;
  const hidden = document === null ? { tenant } : { revision: document.revision ?? '' };
  const fields = secrets.map(({ name, isKept }) => {
    const stateText = isKept ? words.secretKept : words.secretMissing;
    return html`<p class="field"><label for="secret-${name}"><code>${name}</code> ${stateText}</label><input id="secret-${name}" type="password" name="secret-${name}" autocomplete="off"${isKept ? null : html` required`}></p>`;
  });
  const secretsPart =
    fields.length === 0 ? null : html`<fieldset><legend>${words.secrets}</legend>${fields}</fieldset>`;
  return html`<div class="notice" role="status"><p>${words.noFaults}</p></div>${renderDiff(context, document?.yaml ?? '', yaml)}
<form class="stack" method="post" action="${addressOf(draft)}">${csrfField(context.visitor)}${hiddenFields({ ...hidden, yaml })}${secretsPart}${reason}<p class="buttons"><button class="button main" name="step" value="save">${words.save}</button><button class="button plain" name="step" value="edit" formnovalidate>${words.back}</button></p></form>`;
}

function renderDiff({ language }: PageContext, before: string, after: string): Html {
  const words = CONFIGURATION[language];
  const lines = diffLines(before, after);
  if (lines.every(({ kind }) => kind === 'same')) return html`<p>${words.unchanged}</p>`;
  const shown = lines.map(({ kind, text }) => {
    if (kind === 'same') return html`<span>  ${text}\n</span>`;
    const heard = html`<span class="heard">${words[kind]}: </span>`;
    return kind === 'removed' ? html`<del>${heard}- ${text}\n</del>` : html`<ins>${heard}+ ${text}\n</ins>`;
  });
  return html`<pre class="diff" tabindex="0">${shown}</pre>`;
}

/** A clinic that a file configures, which nobody changes here. */
export function renderOfFile(context: PageContext, { tenant, file, yaml }: TenantDocument): Html {
  const words = CONFIGURATION[context.language];
  return html`<p>${words.byFile(file ?? '')}</p><p>${words.adopt} ${copyable(context, `clinic-mirror tenants adopt ${tenant}`)}</p>${yaml === null ? html`<p>${words.unreadable}</p>` : html`<pre tabindex="0">${yaml}</pre>`}`;
}

/** Takes a clinic away. */
export function renderRemoval(context: PageContext, { tenant, revision }: TenantDocument, reason: Html | null): Html {
  const words = CONFIGURATION[context.language];
  const address = clinicAddress(tenant, '/configuration');
  const form = html`<form class="stack" method="post" action="${address}">${csrfField(context.visitor)}${hiddenFields({ revision: revision ?? '' })}<p>${words.removeText}</p><p class="field"><label for="sure">${words.removeId}</label><input id="sure" name="sure" required autocomplete="off" pattern="${tenant}"></p>${reason}<p><button class="button danger" name="step" value="remove">${words.remove}</button></p></form>`;
  return section('remove', words.remove, form);
}

/** A line of two texts: of both, of the earlier alone, or of the later alone. */
interface DiffLine {
  kind: 'same' | 'removed' | 'added';
  text: string;
}

/** Lines that are compared each with each; of more it is told that all of them are others. */
const MOST_COMPARED = 2_000;

/** The lines of two texts in their order, as few of them changed as can be. */
export function diffLines(earlier: string, later: string): DiffLine[] {
  const [before, after] = [linesOf(earlier), linesOf(later)];
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let end = 0;
  const most = Math.min(before.length, after.length) - start;
  while (end < most && before[before.length - 1 - end] === after[after.length - 1 - end]) end += 1;
  const same = (lines: readonly string[]) => lines.map((text): DiffLine => ({ kind: 'same', text }));
  const [gone, come] = [before.slice(start, before.length - end), after.slice(start, after.length - end)];
  return [...same(before.slice(0, start)), ...between(gone, come), ...same(before.slice(before.length - end))];
}

function linesOf(text: string): string[] {
  return text.replace(/\n$/, '').split('\n');
}

/** By the longest common subsequence: `lengths` holds that of what is left from each pair of lines on. */
function between(gone: readonly string[], come: readonly string[]): DiffLine[] {
  const removed = (text: string): DiffLine => ({ kind: 'removed', text });
  const added = (text: string): DiffLine => ({ kind: 'added', text });
  if (gone.length > MOST_COMPARED || come.length > MOST_COMPARED) return [...gone.map(removed), ...come.map(added)];
  const width = come.length + 1;
  const lengths = new Uint16Array((gone.length + 1) * width);
  const lengthAt = (row: number, column: number) => lengths[row * width + column] ?? 0;
  for (let row = gone.length - 1; row >= 0; row -= 1) {
    for (let column = come.length - 1; column >= 0; column -= 1) {
      lengths[row * width + column] =
        gone[row] === come[column]
          ? lengthAt(row + 1, column + 1) + 1
          : Math.max(lengthAt(row + 1, column), lengthAt(row, column + 1));
    }
  }
  const lines: DiffLine[] = [];
  let [row, column] = [0, 0];
  while (row < gone.length && column < come.length) {
    const [one = '', other = ''] = [gone[row], come[column]];
    if (one === other) {
      lines.push({ kind: 'same', text: one });
      row += 1;
      column += 1;
    } else if (lengthAt(row + 1, column) >= lengthAt(row, column + 1)) {
      lines.push(removed(one));
      row += 1;
    } else {
      lines.push(added(other));
      column += 1;
    }
  }
  return [...lines, ...gone.slice(row).map(removed), ...come.slice(column).map(added)];
}
