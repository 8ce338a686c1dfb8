import { z } from 'zod';
import { id, tenant } from '../../core/model/schemas.ts';
import { requireTenant } from '../../operator/control/installation.ts';
import { operation } from '../../operator/operations/operation.ts';
import { closed, triggers } from './schemas.ts';

/** Operations on triggers. */
export const TRIGGER_OPERATIONS = {
  listTriggers: operation({
    summary: 'show trigger endpoints and events, with pending and failed messages',
    level: 'viewer',
    input: z.strictObject({ tenant }),
    output: triggers,
    http: { method: 'GET', path: '/tenants/{tenant}/triggers' },
    commands: [{ words: 'triggers show <tenant>', isDefault: true }],
    async run({ tenant }, { services }) {
      const { listTriggers } = await import('./triggers.ts');
      return listTriggers(services.installation, tenant);
    },
  }),
  reopenTriggerEndpoint: operation({
    summary: 'reopen a closed endpoint and send its pending messages',
    level: 'operator',
    input: z.strictObject({
      tenant,
      endpoint: id,
      skip: z.boolean().default(false).describe('Drop pending messages instead'),
    }),
    output: z.object({ tenant: z.string(), endpoint: z.string(), closed: closed.nullable(), skip: z.boolean() }),
    http: { method: 'POST', path: '/tenants/{tenant}/trigger-endpoints/{endpoint}/reopen' },
    commands: [{ words: 'triggers reopen <tenant> <endpoint>' }],
    audit: ({ tenant, endpoint, skip }, { services: { installation } }) => {
      const { id, triggers } = requireTenant(installation, tenant);
      const isConfigured = triggers?.file.endpoints.has(endpoint) === true;
      return { verb: 'reopen-endpoint', tenant: id, what: { endpoint: isConfigured ? endpoint : null, skip } };
    },
    async run({ tenant, endpoint, skip }, { services, progress, signals }) {
      const { reopenEndpoint } = await import('./triggers.ts');
      const { installation } = services;
      const was = await reopenEndpoint(
        installation,
        { tenant, endpoint },
        { skip },
        { progress, signal: signals.stop },
      );
      return { tenant, endpoint, ...was, skip };
    },
    auditResult: ({ closed }) => ({ closed: closed?.code ?? null }),
  }),
};
