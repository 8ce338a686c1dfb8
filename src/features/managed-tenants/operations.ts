import { z } from 'zod';
import { message } from '../../messages/message.ts';
import type { ActVerb } from '../../model/acts.ts';
import { maySee, requireAllTenants } from '../../model/acts.ts';
import { MirrorError } from '../../model/errors.ts';
import { type OperationContext, operation } from '../../operations/operation.ts';
import { configurationFault, pageOfItems, paging, tenant } from '../../operations/schemas.ts';
import type { ConfigurationServices, TenantChange, TenantChanged } from './managed-tenants.ts';

declare module '../../operations/operation.ts' {
  interface Services {
    configurations(): Promise<ConfigurationServices>;
  }
}

/** A document of 512 KiB in JSON, with secrets. */
const DOCUMENT_LIMIT_BYTES = 1_572_864;

/** Revision of an exported document, so that a change replaces no newer revision. */
const REVISION_LINE = /^# revision ([\w-]{22})\n/;

const source = z.object({
  tenant: z.string(),
  source: z.enum(['file', 'managed']).describe('Where it is configured: what a file says is read-only here'),
  file: z.string().nullable().describe('The file that configures it; null for one that is managed'),
  revision: z.string().nullable().describe('Also the ETag; null for a file'),
});

const document = {
  yaml: z.string().describe('What a file in tenants/ would hold. An export has its revision in the first line'),
  secrets: z
    .record(z.string(), z.string())
    .default({})
    .describe('Values of what the document names as { sealed: NAME }; those that are not given stay. Never answered'),
};
const documentCommand = {
  reads: { field: 'yaml', argument: 'file' },
  options: {
    secrets: {
      flags: '--secrets <file>',
      about: 'file in YAML with the values of its { sealed: NAME }, by name; those that are not given stay',
      fromFile: secretsIn,
    },
  },
} as const;

/** Null: a revision is required, but the caller gave none. Undefined: the current revision. */
const ifMatch = z.string().nullable().optional();

const changed = z.object({
  tenant: z.string(),
  revision: z.string().nullable(),
  file: z.string().nullable().describe('A file of its name: it counts once the tenant is not managed any more'),
});

/** Operations on the configuration of tenants. */
export const CONFIGURATION_OPERATIONS = {
  listConfigurations: operation({
    summary: 'show where each tenant is configured, by their ids',
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
    summary: 'show how a tenant is configured, whether it is run or not, and its faults',
    level: 'owner',
    input: z.strictObject({ tenant }),
    output: source.extend({
      yaml: z.string().nullable().describe('As it is written; null if it can not be read'),
      secrets: z.array(z.string()).describe('Names of what is kept sealed for it'),
      faults: z.array(configurationFault).describe('Why it is not run as it is written'),
    }),
    http: { method: 'GET', path: '/tenants/{tenant}/configuration', isRevised: true, isOfAny: true },
    commands: [{ words: 'tenants show <tenant>' }],
    async run({ tenant }, { services, rights }) {
      const { readDocument } = await import('./managed-tenants.ts');
      return readDocument(await services.configurations(), tenant, (other) => maySee(rights, other));
    },
  }),
  exportConfiguration: operation({
    summary: 'export the configuration of a tenant: to change and replace it, or as a file in tenants/ holds it',
    level: 'owner',
    input: z.strictObject({
      tenant,
      forFile: z
        .boolean()
        .default(false)
        .describe('As a file in tenants/ holds it: with variables for what is kept sealed'),
    }),
    output: z.object({
      file: z.string(),
      yaml: z.string(),
      variables: z.array(z.string()).describe('To be set before the file is read'),
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
    summary: 'name all faults that a managed tenant would have; nothing is kept',
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
        about: 'add a managed tenant, as a file or an export has it',
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
    summary: 'change the configuration of a managed tenant that has the named revision',
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
        about: 'configure a managed tenant as a file says, or standard input: an export that was changed',
        reads: { field: 'yaml', argument: 'file' },
        options: {
          ifMatch: {
            flags: '--revision <revision>',
            about: 'the one that is replaced; else the one in the first line of an export',
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
    summary: 'remove a managed tenant that has the named revision; what it wrote elsewhere stays',
    level: 'owner',
    input: z.strictObject({ tenant, ifMatch }),
    output: changed,
    http: { method: 'DELETE', path: '/tenants/{tenant}', isRevised: true, isOfAny: true },
    commands: [
      {
        words: 'tenants remove <tenant>',
        about: 'remove a managed tenant; what it wrote elsewhere stays, and a file of its name counts from then on',
        options: { ifMatch: { flags: '--revision <revision>', about: 'only if it still has this one' } },
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
    summary: 'make the tenant of a file a managed one, as it is configured there; its state and logins stay',
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
    summary: 'have a managed tenant that is record-forged count as Redis has it, after you restored an older Redis',
    level: 'owner',
    input: z.strictObject({
      tenant: tenant.optional(),
      all: z.boolean().default(false).describe('Every one that is record-forged, one after the other'),
    }),
    output: z.object({ accepted: z.array(changed) }),
    // Only an administrator of the host can investigate who wrote to Redis.
    http: null,
    commands: [{ words: 'tenants accept [tenant]' }],
    audit: 'itself',
    async run({ tenant, all }, context) {
      const { forgedTenants, planReplacement } = await import('./managed-tenants.ts');
      const forged = await forgedTenants(await context.services.configurations());
      const accepted: TenantChanged[] = [];
      for (const each of forged.filter((each) => all || each.tenant === tenant)) {
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
