import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { requireAllTenants } from '../../../core/model/acts.ts';
import { MirrorError } from '../../../core/model/errors.ts';
import { type Html, html } from '../../../core/model/html.ts';
import { neededSecrets } from '../../../features/managed-tenants/managed-tenants.ts';
import { CONFIGURATION_OPERATIONS } from '../../../features/managed-tenants/operations.ts';
import type { TenantDocument } from '../../../features/managed-tenants/schemas.ts';
import { ConfigurationError, type ConfigurationFault } from '../../../settings/faults.ts';
import { requireRecentSignIn, SIGN_IN_AGAIN } from '../../control/recording.ts';
import { clinicAddress } from '../../documents/document.ts';
import { formOf } from '../browser-request.ts';
import { type OperatorServices, visitorOf } from '../operators.ts';
import { actingOf, contextOf, operationContext, type PageContext, type PageVisit, reasonField } from './context.ts';
import { ADD_CLINIC_PATH, sendPage } from './layout.ts';
import { configurationResult, withOutcome } from './outcomes.ts';
import { copyable, csrfField, failureNotice, hiddenFields, notice, said, section, table } from './parts.ts';
import { CONFIGURATION } from './texts/configuration.ts';

/** A document of 512 KiB, with up to three bytes per character in a form. */
const FORM_BYTES = 2_097_152;
const ROUTE = '/tenants/:tenant/configuration';
const { readConfiguration, checkConfiguration, addTenant, replaceConfiguration, removeTenant } =
  CONFIGURATION_OPERATIONS;

interface TenantRoute {
  Params: { tenant: string };
}

/** Adds the pages to configure or add a clinic. A check precedes saving, and exactly the checked document is saved. */
export function addConfigurationPages(app: FastifyInstance, services: OperatorServices): void {
  const config = { level: 'owner' } as const;
  app.get<TenantRoute>(ROUTE, { config }, async (request, reply) => {
    const document = await readConfiguration.run(request.params, operationContext(request, services));
    return sendDocument({ request, reply, services }, document);
  });
  app.post<TenantRoute>(ROUTE, { config, bodyLimit: FORM_BYTES }, async (request, reply) => {
    requireAllTenants(visitorOf(request));
    const { tenant } = request.params;
    const now = await readConfiguration.run({ tenant }, operationContext(request, services));
    // The change applies to the displayed revision, even if a newer one exists.
    const document = { ...now, revision: formOf(request).get('revision') ?? now.revision };
    return step({ request, reply, services }, { document, tenant, yaml: writtenIn(request) ?? document.yaml ?? '' });
  });
  app.get(ADD_CLINIC_PATH, { config }, async (request, reply) => {
    requireAllTenants(visitorOf(request));
    // Before the user types the document.
    requireRecentSignIn(actingOf(request, services));
    return sendEditor({ request, reply, services }, { document: null, tenant: '', yaml: '' });
  });
  app.post(ADD_CLINIC_PATH, { config, bodyLimit: FORM_BYTES }, async (request, reply) => {
    requireAllTenants(visitorOf(request));
    const tenant = formOf(request).get('tenant')?.trim() ?? '';
    return step({ request, reply, services }, { document: null, tenant, yaml: writtenIn(request) ?? '' });
  });
}

/**
 * Browsers end the lines of a text area with CR LF.
 * @see https://html.spec.whatwg.org/multipage/form-control-infrastructure.html#constructing-the-form-data-set
 */
function writtenIn(request: FastifyRequest): string | null {
  return formOf(request).get('yaml')?.replaceAll('\r\n', '\n') ?? null;
}

/** Errors without a draft to correct. */
const LEAVES_EDITOR = new Set(['no-such-tenant', SIGN_IN_AGAIN]);

async function step(visit: PageVisit, draft: Draft): Promise<FastifyReply> {
  const { request, reply, services } = visit;
  const form = formOf(request);
  const { tenant } = draft;
  try {
    switch (form.get('step')) {
      case 'check':
        return await sendConfirmation(visit, draft);
      case 'save':
        return reply.redirect(
          withOutcome(clinicAddress(tenant, '/configuration'), await save(request, services, draft)),
          303,
        );
      case 'remove':
        if (form.get('sure') !== tenant) break;
        return reply.redirect(withOutcome('/', await remove(request, services, draft)), 303);
    }
    return sendEditor(visit, draft);
  } catch (error) {
    const context = contextOf(request, services);
    const words = CONFIGURATION[context.language];
    if (error instanceof ConfigurationError) {
      return sendEditor(visit, draft, renderFaults(context, error.faults), 422);
    }
    if (!(error instanceof MirrorError) || LEAVES_EDITOR.has(error.code)) throw error;
    const isRequested = error.code === 'second-person-needed';
    const feedback = isRequested ? notice(words.noted) : failureNotice(context, words.refused, error);
    return sendEditor(visit, draft, feedback, isRequested ? 200 : 409);
  }
}

async function remove(request: FastifyRequest, services: OperatorServices, { tenant, document }: Draft) {
  const ifMatch = document?.revision ?? null;
  const { file } = await removeTenant.run({ tenant, ifMatch }, operationContext(request, services));
  return file === null ? 'removed' : 'removed-to-file';
}

async function save(request: FastifyRequest, services: OperatorServices, draft: Draft) {
  const form = formOf(request);
  const secretEntries = [...form].filter(([name, value]) => name.startsWith('secret-') && value !== '');
  const secrets = Object.fromEntries(secretEntries.map(([name, value]) => [name.slice('secret-'.length), value]));
  const { tenant, yaml, document } = draft;
  const context = operationContext(request, services);
  if (document === null) {
    await addTenant.run({ tenant, yaml, secrets }, context);
    return 'added';
  }
  await replaceConfiguration.run({ tenant, ifMatch: document.revision, yaml, secrets }, context);
  return yaml === document.yaml && secretEntries.length === 0 ? 'saved-same' : 'saved';
}

/** Checks as if missing secrets existed: the form requests secrets when saving, and no page contains one. */
async function sendConfirmation({ request, reply, services }: PageVisit, draft: Draft): Promise<FastifyReply> {
  const { document, tenant, yaml } = draft;
  const secrets = (await neededSecrets(yaml)).map((name) => ({
    name,
    isStored: document?.secrets.includes(name) === true,
  }));
  const missing = secrets
    .filter(({ isStored }) => !isStored)
    .map(({ name }) => [name, 'given when it is saved'] as const);
  const wanted = { tenant, yaml, secrets: Object.fromEntries(missing) };
  const { faults } = await checkConfiguration.run(wanted, operationContext(request, services));
  if (faults.length > 0) throw new ConfigurationError(faults);
  const context = contextOf(request, services, document === null ? undefined : tenant);
  const reason = reasonField(context, services, document === null ? 'add-tenant' : 'replace-tenant');
  const main = renderConfirmation(context, draft, secrets, reason);
  return sendPage(reply, context, { title: titleOf(request, services, draft), main });
}

function sendDocument(visit: PageVisit, document: TenantDocument): FastifyReply {
  const { request, reply, services } = visit;
  const { tenant, source, yaml, faults } = document;
  if (source === 'managed') {
    const context = contextOf(request, services, tenant);
    const feedback = faults.length === 0 ? null : renderFaults(context, faults);
    return sendEditor(visit, { document, tenant, yaml: yaml ?? '' }, html`${configurationResult(context)}${feedback}`);
  }
  const context = contextOf(request, services, tenant);
  return sendPage(reply, context, {
    title: CONFIGURATION[context.language].title,
    main: renderOfFile(context, document),
  });
}

/** @param feedback result of the previous step */
function sendEditor(
  { request, reply, services }: PageVisit,
  draft: Draft,
  feedback: Html | null = null,
  status = 200,
): FastifyReply {
  const { document, tenant } = draft;
  const context = contextOf(request, services, document === null ? undefined : tenant);
  const words = CONFIGURATION[context.language];
  const lead = document === null ? words.add : words.managed;
  const removal =
    document === null ? null : renderRemoval(context, document, reasonField(context, services, 'remove-tenant'));
  const main = html`${feedback}<p>${lead}</p>${renderEditor(context, draft)}${removal}`;
  return sendPage(reply, context, { title: titleOf(request, services, draft), main }, status);
}

function titleOf(request: FastifyRequest, services: OperatorServices, { document }: Draft): string {
  const words = CONFIGURATION[contextOf(request, services).language];
  return document === null ? words.addTitle : words.title;
}

/** An edited document. */
interface Draft {
  /** Null for a new clinic, whose id is a field. */
  document: TenantDocument | null;
  tenant: string;
  yaml: string;
}

/** Returns the form action of a draft. */
function addressOf({ document, tenant }: Draft): string {
  return document === null ? ADD_CLINIC_PATH : clinicAddress(tenant, '/configuration');
}

/** Renders the editor. */
function renderEditor(context: PageContext, draft: Draft): Html {
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

/** Renders all faults with line and field. */
function renderFaults(context: PageContext, faults: readonly ConfigurationFault[]): Html {
  const words = CONFIGURATION[context.language];
  const columns = [words.field, words.line, words.message, words.remedy];
  const rows = faults.map(({ line, path, texts: { message, remedy } }) => ({
    cells: [
      html`<code>${path}</code>`,
      line === null ? null : String(line),
      said(context, message),
      said(context, remedy ?? ''),
    ],
  }));
  const heading = words.faults(faults.length);
  return html`<div class="notice act" role="alert"><p>${heading}</p></div>${table(heading, columns, rows)}`;
}

/** Renders the changes, and the button to save. @param reason the field for a reason */
function renderConfirmation(
  context: PageContext,
  draft: Draft,
  secrets: readonly { name: string; isStored: boolean }[],
  reason: Html | null,
): Html {
  const words = CONFIGURATION[context.language];
  const { document, tenant, yaml } = draft;
  const hidden = document === null ? { tenant } : { revision: document.revision ?? '' };
  const fields = secrets.map(({ name, isStored }) => {
    const stateText = isStored ? words.secretKept : words.secretMissing;
    return html`<p class="field"><label for="secret-${name}"><code>${name}</code> ${stateText}</label><input id="secret-${name}" type="password" name="secret-${name}" autocomplete="off"${isStored ? null : html` required`}></p>`;
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

/** Renders a read-only clinic that is configured by a file. */
function renderOfFile(context: PageContext, { tenant, file, yaml }: TenantDocument): Html {
  const words = CONFIGURATION[context.language];
  return html`<p>${words.byFile(file ?? '')}</p><p>${words.adopt} ${copyable(context, `clinic-mirror tenants adopt ${tenant}`)}</p>${yaml === null ? html`<p>${words.unreadable}</p>` : html`<pre tabindex="0">${yaml}</pre>`}`;
}

/** Renders the removal of a clinic. */
function renderRemoval(context: PageContext, { tenant, revision }: TenantDocument, reason: Html | null): Html {
  const words = CONFIGURATION[context.language];
  const address = clinicAddress(tenant, '/configuration');
  const form = html`<form class="stack" method="post" action="${address}">${csrfField(context.visitor)}${hiddenFields({ revision: revision ?? '' })}<p>${words.removeText}</p><p class="field"><label for="sure">${words.removeId}</label><input id="sure" name="sure" required autocomplete="off" pattern="${tenant}"></p>${reason}<p><button class="button danger" name="step" value="remove">${words.remove}</button></p></form>`;
  return section('remove', words.remove, form);
}

/** A line of a diff: common, earlier only, or later only. */
interface DiffLine {
  kind: 'same' | 'removed' | 'added';
  text: string;
}

/** Maximum number of lines for a line-by-line diff; more lines appear as completely replaced. */
const MOST_COMPARED = 2_000;

/** Returns a minimal line diff. */
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

/** Uses the longest common subsequence: `lengths` holds its length for the remainders from each pair of lines. */
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
