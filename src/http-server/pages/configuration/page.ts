import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { clinicAddress } from '../../../documents/document.ts';
import { neededSecrets, type TenantDocument } from '../../../features/managed-tenants/managed-tenants.ts';
import { CONFIGURATION_OPERATIONS } from '../../../features/managed-tenants/operations.ts';
import { requireAllTenants } from '../../../model/access.ts';
import { MirrorError } from '../../../model/errors.ts';
import { type Html, html } from '../../../model/html.ts';
import { ConfigurationError } from '../../../settings/faults.ts';
import { formOf } from '../../forms.ts';
import type { OperatorServices } from '../../operator-desk.ts';
import { visitorOf } from '../../visitors.ts';
import { operationContext, reasonField } from '../acting.ts';
import { contextOf, type PageVisit } from '../context.ts';
import { sendPage } from '../layout.ts';
import { ADD_CLINIC_PATH } from '../navigation.ts';
import { failureNotice, notice } from '../notices.ts';
import { CONFIGURATION } from '../texts/configuration.ts';
import { type Draft, renderConfirmation, renderEditor, renderFaults, renderOfFile, renderRemoval } from './render.ts';

/** A document of 512 KiB, in which a form may write each character as three. */
const FORM_BYTES = 2_097_152;
const ROUTE = '/tenants/:tenant/configuration';
const { readConfiguration, checkConfiguration, addTenant, replaceConfiguration, removeTenant } =
  CONFIGURATION_OPERATIONS;

interface TenantRoute {
  Params: { tenant: string };
}

/** Adds the pages on which a clinic is configured, or added: checked first, then saved as it was seen. */
export function addConfigurationPages(app: FastifyInstance, services: OperatorServices): void {
  const config = { level: 'owner' } as const;
  app.get<TenantRoute>(ROUTE, { config }, async (request, reply) => {
    const document = await readConfiguration.run(request.params, operationContext(request, services));
    return sendDocument({ request, reply, desk: services }, document);
  });
  app.post<TenantRoute>(ROUTE, { config, bodyLimit: FORM_BYTES }, async (request, reply) => {
    requireAllTenants(visitorOf(request));
    const { tenant } = request.params;
    const now = await readConfiguration.run({ tenant }, operationContext(request, services));
    // What is changed is what was seen, whatever it is by now.
    const document = { ...now, revision: formOf(request).get('revision') ?? now.revision };
    return step(
      { request, reply, desk: services },
      { document, tenant, yaml: writtenIn(request) ?? document.yaml ?? '' },
    );
  });
  app.get(ADD_CLINIC_PATH, { config }, async (request, reply) => {
    requireAllTenants(visitorOf(request));
    return sendEditor({ request, reply, desk: services }, { document: null, tenant: '', yaml: '' });
  });
  app.post(ADD_CLINIC_PATH, { config, bodyLimit: FORM_BYTES }, async (request, reply) => {
    requireAllTenants(visitorOf(request));
    const tenant = formOf(request).get('tenant')?.trim() ?? '';
    return step({ request, reply, desk: services }, { document: null, tenant, yaml: writtenIn(request) ?? '' });
  });
}

/**
 * Browsers end the lines of a text area with CR LF.
 * @see https://html.spec.whatwg.org/multipage/form-control-infrastructure.html#constructing-the-form-data-set
 */
function writtenIn(request: FastifyRequest): string | null {
  return formOf(request).get('yaml')?.replaceAll('\r\n', '\n') ?? null;
}

async function step(visit: PageVisit, draft: Draft): Promise<FastifyReply> {
  const { request, reply, desk } = visit;
  const form = formOf(request);
  const { tenant, document } = draft;
  try {
    switch (form.get('step')) {
      case 'check':
        return await sendConfirmation(visit, draft);
      case 'save':
        await save(request, desk, draft);
        return reply.redirect(clinicAddress(tenant, '/configuration'), 303);
      case 'remove':
        if (form.get('sure') !== tenant) break;
        await removeTenant.run({ tenant, ifMatch: document?.revision ?? null }, operationContext(request, desk));
        return reply.redirect('/', 303);
    }
    return sendEditor(visit, draft);
  } catch (error) {
    const context = contextOf(request, desk);
    const words = CONFIGURATION[context.language];
    if (error instanceof ConfigurationError) {
      return sendEditor(visit, draft, renderFaults(context, error.faults), 422);
    }
    if (!(error instanceof MirrorError) || error.code === 'no-such-tenant') throw error;
    const isRequested = error.code === 'second-person-needed';
    const feedback = isRequested ? notice(words.noted) : failureNotice(context, words.refused, error);
    return sendEditor(visit, draft, feedback, isRequested ? 200 : 409);
  }
}

async function save(request: FastifyRequest, services: OperatorServices, draft: Draft): Promise<void> {
  const form = formOf(request);
  const secretEntries = [...form].filter(([name, value]) => name.startsWith('secret-') && value !== '');
  const secrets = Object.fromEntries(secretEntries.map(([name, value]) => [name.slice('secret-'.length), value]));
  const { tenant, yaml, document } = draft;
  const context = operationContext(request, services);
  if (document === null) await addTenant.run({ tenant, yaml, secrets }, context);
  else await replaceConfiguration.run({ tenant, ifMatch: document.revision, yaml, secrets }, context);
}

/** Checks as if the secrets that are missing were given: they are asked for with what is saved, and no page holds one. */
async function sendConfirmation({ request, reply, desk }: PageVisit, draft: Draft): Promise<FastifyReply> {
  const { document, tenant, yaml } = draft;
  const secrets = neededSecrets(yaml).map((name) => ({ name, isKept: document?.secrets.includes(name) === true }));
  const missing = secrets.filter(({ isKept }) => !isKept).map(({ name }) => [name, 'given when it is saved'] as const);
  const wanted = { tenant, yaml, secrets: Object.fromEntries(missing) };
  const { faults } = await checkConfiguration.run(wanted, operationContext(request, desk));
  if (faults.length > 0) throw new ConfigurationError(faults);
  const context = contextOf(request, desk, document === null ? undefined : tenant);
  const reason = reasonField(context, desk, document === null ? 'add-tenant' : 'replace-tenant');
  const main = renderConfirmation(context, draft, secrets, reason);
  return sendPage(reply, context, { title: titleOf(request, desk, draft), main });
}

function sendDocument(visit: PageVisit, document: TenantDocument): FastifyReply {
  const { request, reply, desk } = visit;
  const { tenant, source, yaml, faults } = document;
  if (source === 'managed') {
    const context = contextOf(request, desk, tenant);
    const feedback = faults.length === 0 ? null : renderFaults(context, faults);
    return sendEditor(visit, { document, tenant, yaml: yaml ?? '' }, feedback);
  }
  const context = contextOf(request, desk, tenant);
  return sendPage(reply, context, {
    title: CONFIGURATION[context.language].title,
    main: renderOfFile(context, document),
  });
}

/** @param feedback what came of it before */
function sendEditor(
  { request, reply, desk }: PageVisit,
  draft: Draft,
  feedback: Html | null = null,
  status = 200,
): FastifyReply {
  const { document, tenant } = draft;
  const context = contextOf(request, desk, document === null ? undefined : tenant);
  const words = CONFIGURATION[context.language];
  const lead = document === null ? words.add : words.managed;
  const removal =
    document === null ? null : renderRemoval(context, document, reasonField(context, desk, 'remove-tenant'));
  const main = html`${feedback}<p>${lead}</p>${renderEditor(context, draft)}${removal}`;
  return sendPage(reply, context, { title: titleOf(request, desk, draft), main }, status);
}

function titleOf(request: FastifyRequest, services: OperatorServices, { document }: Draft): string {
  const words = CONFIGURATION[contextOf(request, services).language];
  return document === null ? words.addTitle : words.title;
}
