import { z } from 'zod';
import type { ActVerb } from '../../core/model/acts.ts';
import { maySee, requireAllTenants } from '../../core/model/acts.ts';
import { MirrorError } from '../../core/model/errors.ts';
import { configurationFault, pageOfItems, paging, tenant } from '../../core/model/schemas.ts';
import { message } from '../../messages/message.ts';
import { type OperationContext, operation } from '../../operator/operations/operation.ts';
import type { ConfigurationServices, TenantChange } from './managed-tenants.ts';
import { changed, configuration, source, type TenantChanged } from './schemas.ts';

declare module '../../operator/operations/operation.ts' {
  interface Services {
    configurations(): Promise<ConfigurationServices>;
  }
}

/** A document of 512 KiB in JSON, with secrets. */
const DOCUMENT_LIMIT_BYTES = 1_572_864;

/** Revision of an exported document, so that a change replaces no newer revision. */
const REVISION_LINE = /^# revision ([\w-]{22})\n/;

const document = {
  yaml: z
    .string()
    .describe('Content in the format of a file in tenants/. An export has the revision in the first line'),
  secrets: z
    .record(z.string(), z.string())
    .default({})
    .describe('Values for each { sealed: NAME } in the document. Missing names keep their stored values. Write-only'),
};
const documentCommand = {
  reads: { field: 'yaml', argument: 'file' },
  options: {
    secrets: {
      flags: '--secrets <file>',
      about: 'YAML file with values for { sealed: NAME }, by name; missing names keep their values',
      fromFile: secretsIn,
    },
  },
} as const;

/** Null: a revision is required, but the caller gave none. Undefined: the current revision. */
const ifMatch = z.string().nullable().optional();

/** Operations on the configuration of tenants. */
export const CONFIGURATION_OPERATIONS = {
  listConfigurations: operation({
    summary: 'list tenants by id, with the location of their configuration',
    level: 'viewer',
    input: z.strictObject(paging),
    output: pageOfItems(source),
    http: { method: 'GET', path: '/configurations' },
    commands: [{ words: 'tenants list', isDefault: true }],
    async run(page, { services, rights }) {
      const { listSources } = await import('./managed-tenants.ts');
      return listSources(await services.configurations(), (tenant) => maySee(rights, tenant), page);
    },
  }),
  readConfiguration: operation({
    summary: 'show the configuration of a tenant and its faults',
    level: 'owner',
    input: z.strictObject({ tenant }),
    output: configuration,
    http: { method: 'GET', path: '/tenants/{tenant}/configuration', isRevised: true, isOfAny: true },
    commands: [{ words: 'tenants show <tenant>' }],
    async run({ tenant }, { services, rights }) {
      const { readDocument } = await import('./managed-tenants.ts');
      return readDocument(await services.configurations(), tenant, (other) => maySee(rights, other));
    },
  }),
  exportConfiguration: operation({
    summary: 'export the configuration of a tenant, for replace or as a file',
    level: 'owner',
    input: z.strictObject({
      tenant,
      forFile: z.boolean().default(false).describe('Format of a file in tenants/, with variables for encrypted values'),
    }),
    output: z.object({
      file: z.string(),
      yaml: z.string(),
      variables: z.array(z.string()).describe('Variables to set before the file is read'),
    }),
    http: {
      method: 'GET',
      path: '/tenants/{tenant}/configuration/file',
      fixed: { forFile: true },
      isOfAny: true,
    },
    commands: [{ words: 'tenants export <tenant>' }],
    async run({ tenant, forFile }, { services }) {
      const { documentForFile, readDocument } = await import('./managed-tenants.ts');
      const current = await readDocument(await services.configurations(), tenant, () => false);
      const ofFile = documentForFile(current);
      if (forFile) return ofFile;
      const head = current.revision === null ? '' : `# revision ${current.revision}\n`;
      return { ...ofFile, yaml: `${head}${current.yaml}`, variables: [] };
    },
  }),
  checkConfiguration: operation({
    summary: 'check the configuration of a managed tenant; saves nothing',
    level: 'owner',
    input: z.strictObject({ tenant, ...document }),
    output: z.object({ ok: z.boolean(), faults: z.array(configurationFault) }),
    http: { method: 'POST', path: '/configurations/check', bodyLimit: DOCUMENT_LIMIT_BYTES },
    commands: [{ words: 'tenants check <tenant> [file]', ...documentCommand }],
    async run({ tenant, ...written }, { services, rights }) {
      requireAllTenants(rights);
      const { checkDocument } = await import('./managed-tenants.ts');
      const faults = await checkDocument(await services.configurations(), tenant, wantedOf(written));
      return { ok: faults.length === 0, faults };
    },
    endsWithTwo: ({ ok }) => !ok,
  }),
  addTenant: operation({
    summary: 'add a managed tenant',
    level: 'owner',
    input: z.strictObject({ tenant, ...document }),
    output: changed,
    http: { method: 'POST', path: '/tenants', bodyLimit: DOCUMENT_LIMIT_BYTES, isRevised: true },
    commands: [
      {
        words: 'tenants add <tenant> [file]',
        about: 'add a managed tenant from a file or an export',
        ...documentCommand,
      },
    ],
    audit: 'itself',
    run: ({ tenant, ...written }, context) =>
      change(context, 'add-tenant', async (configurations) => {
        const { planAddition } = await import('./managed-tenants.ts');
        return planAddition(configurations, tenant, wantedOf(written));
      }),
  }),
  replaceConfiguration: operation({
    summary: 'replace the configuration of a managed tenant, if the revision matches',
    level: 'owner',
    input: z.strictObject({ tenant, ifMatch, ...document }),
    output: changed,
    http: {
      method: 'PUT',
      path: '/tenants/{tenant}/configuration',
      bodyLimit: DOCUMENT_LIMIT_BYTES,
      isRevised: true,
      isOfAny: true,
    },
    commands: [
      {
        words: 'tenants replace <tenant> [file]',
        about: 'replace the configuration of a managed tenant (file or standard input)',
        reads: { field: 'yaml', argument: 'file' },
        options: {
          ifMatch: {
            flags: '--revision <revision>',
            about: 'revision to replace; default: revision in the first line of an export',
          },
          ...documentCommand.options,
        },
      },
    ],
    audit: 'itself',
    run: ({ tenant, ifMatch, ...written }, context) =>
      change(context, 'replace-tenant', async (configurations) => {
        const { planReplacement } = await import('./managed-tenants.ts');
        const revision = ifMatch ?? REVISION_LINE.exec(written.yaml)?.[1] ?? null;
        return planReplacement(configurations, tenant, wantedOf(written), revision);
      }),
  }),
  removeTenant: operation({
    summary: 'remove a managed tenant, if the revision matches; calendars and CRMs keep their objects',
    level: 'owner',
    input: z.strictObject({ tenant, ifMatch }),
    output: changed,
    http: { method: 'DELETE', path: '/tenants/{tenant}', isRevised: true, isOfAny: true },
    commands: [
      {
        words: 'tenants remove <tenant>',
        about: 'remove a managed tenant; calendars and CRMs keep their objects',
        options: {
          ifMatch: { flags: '--revision <revision>', about: 'remove only if the tenant still has this revision' },
        },
      },
    ],
    audit: 'itself',
    run: ({ tenant, ifMatch }, context) =>
      change(context, 'remove-tenant', async (configurations) => {
        const { planReplacement, readDocument } = await import('./managed-tenants.ts');
        const revision =
          ifMatch === undefined ? (await readDocument(configurations, tenant, () => true)).revision : ifMatch;
        return planReplacement(configurations, tenant, null, revision);
      }),
  }),
  adoptTenant: operation({
    summary: 'convert a tenant from a file to a managed tenant; keeps state and connections',
    level: 'owner',
    input: z.strictObject({ tenant }),
    output: changed,
    http: { method: 'POST', path: '/tenants/{tenant}/adopt', isRevised: true, isOfAny: true },
    commands: [{ words: 'tenants adopt <tenant>' }],
    audit: 'itself',
    run: ({ tenant }, context) =>
      change(context, 'adopt-tenant', async (configurations) => {
        const { planAdoption } = await import('./managed-tenants.ts');
        return planAdoption(configurations, tenant);
      }),
  }),
  acceptTenants: operation({
    summary: 'accept a state-damaged managed tenant after Redis was restored',
    level: 'owner',
    input: z.strictObject({
      tenant: tenant.optional(),
      all: z.boolean().default(false).describe('Accept every state-damaged tenant'),
    }),
    output: z.object({ accepted: z.array(changed) }),
    // Only an administrator of the host can investigate who wrote to Redis.
    http: null,
    commands: [{ words: 'tenants accept [tenant]' }],
    audit: 'itself',
    async run({ tenant, all }, context) {
      const { damagedTenants, planReplacement } = await import('./managed-tenants.ts');
      const damaged = await damagedTenants(await context.services.configurations());
      const accepted: TenantChanged[] = [];
      for (const each of damaged.filter((each) => all || each.tenant === tenant)) {
        // Requires approval like a removal, because the replaced configuration is unknown.
        const plan = (configurations: ConfigurationServices) =>
          planReplacement(configurations, each.tenant, null, each.revision);
        accepted.push(await change(context, 'accept-tenant', plan));
      }
      return { accepted };
    },
  }),
};

/** Plans, records and makes a change. A change with faults is not recorded. */
async function change(
  { services, acting, rights }: OperationContext,
  verb: ActVerb,
  plan: (configurations: ConfigurationServices) => Promise<TenantChange>,
): Promise<TenantChanged> {
  requireAllTenants(rights);
  const { changeTenant } = await import('./managed-tenants.ts');
  const configurations = await services.configurations();
  return changeTenant(acting, configurations, verb, await plan(configurations));
}

/** Removes the revision line of a document. */
function wantedOf({ yaml, secrets }: { yaml: string; secrets: Record<string, string> }) {
  return { yaml: yaml.replace(REVISION_LINE, ''), secrets };
}

/** An invalid YAML file is refused without quoting the file, which holds secrets. */
async function secretsIn(text: string): Promise<Record<string, string>> {
  const { parse } = await import('yaml');
  try {
    return z.record(z.string(), z.string()).parse(parse(text));
  } catch {
    throw new MirrorError(message('secrets-unreadable'), {
      ...{ actor: 'settings', code: 'file-unusable', retry: 'never' },
      remedy: message('secrets-unreadable.remedy'),
    });
  }
}
