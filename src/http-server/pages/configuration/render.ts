import { clinicAddress } from '../../../documents/addresses.ts';
import type { TenantDocument } from '../../../features/managed-tenants/managed-tenants.ts';
import { type Html, html } from '../../../model/html.ts';
import type { ConfigurationFault } from '../../../settings/faults.ts';
import type { PageContext } from '../context.ts';
import { ADD_CLINIC_PATH } from '../navigation.ts';
import { copyable, csrfField, hiddenFields, section, table } from '../parts.ts';
import { CONFIGURATION } from '../texts/configuration.ts';
import { diffLines } from './line-diff.ts';

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
    const told = isKept ? words.secretKept : words.secretMissing;
    return html`<p class="field"><label for="secret-${name}"><code>${name}</code> ${told}</label><input id="secret-${name}" type="password" name="secret-${name}" autocomplete="off"${isKept ? null : html` required`}></p>`;
  });
  const given = fields.length === 0 ? null : html`<fieldset><legend>${words.secrets}</legend>${fields}</fieldset>`;
  return html`<div class="notice" role="status"><p>${words.noFaults}</p></div>${renderDiff(context, document?.yaml ?? '', yaml)}
<form class="stack" method="post" action="${addressOf(draft)}">${csrfField(context.visitor)}${hiddenFields({ ...hidden, yaml })}${given}${reason}<p class="buttons"><button class="button main" name="step" value="save">${words.save}</button><button class="button plain" name="step" value="edit" formnovalidate>${words.back}</button></p></form>`;
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
