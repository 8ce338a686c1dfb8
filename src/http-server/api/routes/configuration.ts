import { z } from 'zod';
import {
  type ConfigurationDesk,
  checkDocument,
  documentForFile,
  listSources,
  readDocument,
} from '../../../control/managed-tenants.ts';
import { addTenant, adoptTenant, removeTenant, replaceTenant } from '../../../control/tenant-acts.ts';
import { MirrorError } from '../../../model/errors.ts';
import { pageOfItems } from '../../../operations/schemas.ts';
import { configurationsOf } from '../../operator-desk.ts';
import { maySee, requireAllTenants } from '../../visitors.ts';
import { configurationFault } from '../problems.ts';
import { paged, type Route, route, withReason } from '../route.ts';

/** A document of 512 KiB as JSON writes it, with its secrets. */
const DOCUMENT_LIMIT_BYTES = 1_572_864;

const source = z.object({
  tenant: z.string(),
  source: z.enum(['file', 'managed']).describe('Where it is configured: what a file says is read-only here'),
  file: z.string().nullable().describe('The file that configures it; null for one that is managed'),
  revision: z.string().nullable().describe('Also the ETag; null for a file'),
});

const wanted = withReason.extend({
  yaml: z.string().describe('What a file in tenants/ would hold'),
  secrets: z
    .record(z.string(), z.string())
    .default({})
    .describe('Values of what the document names as { sealed: NAME }; those that are not given stay. Never answered'),
});
const wantedOf = wanted.extend({ tenant: z.string().max(200).describe('Its id') });

const changed = z.object({
  tenant: z.string(),
  revision: z.string().nullable(),
  file: z.string().nullable().describe('A file of its name: it counts once the tenant is not managed any more'),
});

/** How tenants are configured. */
export const CONFIGURATION_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/configurations',
    name: 'listConfigurations',
    summary: 'Where each tenant is configured, by their ids',
    level: 'viewer',
    query: paged,
    reply: pageOfItems(source),
    handle: ({ desk, visitor, query }) =>
      listSources(configurationsOf(desk), (tenant) => maySee(visitor, tenant), query),
  }),
  route({
    method: 'POST',
    path: '/configurations/check',
    name: 'checkConfiguration',
    summary: 'What would be wrong, all at once, if a managed tenant was configured so; keeps nothing',
    level: 'owner',
    body: wantedOf,
    bodyLimit: DOCUMENT_LIMIT_BYTES,
    reply: z.object({ faults: z.array(configurationFault) }),
    async handle({ desk, visitor, body }) {
      requireAllTenants(visitor);
      return { faults: await checkDocument(configurationsOf(desk), body.tenant, body) };
    },
  }),
  route({
    method: 'POST',
    path: '/tenants',
    name: 'addTenant',
    summary: 'Add a managed tenant',
    level: 'owner',
    body: wantedOf,
    bodyLimit: DOCUMENT_LIMIT_BYTES,
    reply: changed,
    isRevised: true,
    handle({ acting, desk, visitor, body }) {
      requireAllTenants(visitor);
      return addTenant(acting, configurationsOf(desk), body.tenant, body);
    },
  }),
  route({
    method: 'GET',
    path: '/tenants/{tenant}/configuration',
    name: 'readConfiguration',
    summary: 'How a tenant is configured, as it is written, whether it is run or not',
    level: 'owner',
    reply: source.extend({
      yaml: z.string().nullable().describe('Null where it can not be read'),
      secrets: z.array(z.string()).describe('Names of what is kept sealed for it'),
      faults: z.array(configurationFault).describe('Why it is not run as it is written'),
    }),
    isRevised: true,
    isOfAny: true,
    handle: ({ desk, visitor, params }) =>
      readDocument(configurationsOf(desk), params.tenant, (tenant) => maySee(visitor, tenant)),
  }),
  route({
    method: 'GET',
    path: '/tenants/{tenant}/configuration/file',
    name: 'exportConfiguration',
    summary: 'The same as a file in tenants/ holds it: secrets that are kept sealed here are variables there',
    level: 'owner',
    reply: z.object({
      file: z.string(),
      yaml: z.string(),
      variables: z.array(z.string()).describe('To be set before the file is read'),
    }),
    isOfAny: true,
    handle: async ({ desk, params }) =>
      documentForFile(await readDocument(configurationsOf(desk), params.tenant, () => false)),
  }),
  route({
    method: 'PUT',
    path: '/tenants/{tenant}/configuration',
    name: 'replaceConfiguration',
    summary: 'Configure a managed tenant otherwise, as long as it has the revision of If-Match',
    level: 'owner',
    body: wanted,
    bodyLimit: DOCUMENT_LIMIT_BYTES,
    reply: changed,
    isRevised: true,
    isOfAny: true,
    async handle({ acting, desk, visitor, params, body, ifMatch }) {
      requireAllTenants(visitor);
      const revision = await requireRevision(configurationsOf(desk), params.tenant, ifMatch);
      return replaceTenant(acting, configurationsOf(desk), params.tenant, body, revision);
    },
  }),
  route({
    method: 'DELETE',
    path: '/tenants/{tenant}',
    name: 'removeTenant',
    summary: 'Remove a managed tenant that has the revision of If-Match; what it wrote elsewhere stays',
    level: 'owner',
    reply: changed,
    isRevised: true,
    isOfAny: true,
    async handle({ acting, desk, visitor, params, ifMatch }) {
      requireAllTenants(visitor);
      const revision = await requireRevision(configurationsOf(desk), params.tenant, ifMatch);
      return removeTenant(acting, configurationsOf(desk), params.tenant, revision);
    },
  }),
  route({
    method: 'POST',
    path: '/tenants/{tenant}/adopt',
    name: 'adoptTenant',
    summary: 'Make the tenant of a file a managed one, as it is configured there; its state and logins stay',
    level: 'owner',
    reply: changed,
    isRevised: true,
    isOfAny: true,
    handle({ acting, desk, visitor, params }) {
      requireAllTenants(visitor);
      return adoptTenant(acting, configurationsOf(desk), params.tenant);
    },
  }),
];

/** @throws MirrorError `settings`, code `no-such-tenant`, `tenant-in-file`; `conflict`, code `revision-missing` */
async function requireRevision(desk: ConfigurationDesk, tenant: string, ifMatch: string | null): Promise<string> {
  const { source: where } = await readDocument(desk, tenant, () => false);
  // The verb tells of a file which one it is.
  if (ifMatch !== null || where === 'file') return ifMatch ?? '';
  throw new MirrorError('the revision that is to be changed was not given', {
    ...{ actor: 'conflict', code: 'revision-missing', retry: 'never' },
    remedy: 'read the configuration, and give its ETag as If-Match',
  });
}
