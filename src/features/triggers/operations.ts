import { z } from 'zod';
import { requireTenant } from '../../control/installation.ts';
import { operation } from '../../operations/operation.ts';
import { id, instant, tenant } from '../../operations/schemas.ts';

const closed = z.object({ code: z.string(), at: instant });
const event = z.object({
  event: z.string(),
  sinceAt: instant.nullable().describe('What changes from then on is sent'),
  readAt: instant.nullable().describe('When the clinic was last read for it'),
  off: z.object({ code: z.string(), at: instant, remedy: z.string().nullable() }).nullable(),
  waiting: z.number().describe('Messages that no receiver has taken yet'),
  failing: z.number().describe('Those of them that were refused'),
  lastCode: z.string().nullable(),
  nextTryAt: instant.nullable(),
  sent: z.number().describe('Since the state began'),
  dropped: z.number(),
  failedTries: z.number(),
});
const endpoint = z.object({
  endpoint: z.string(),
  closed: closed.nullable().describe('Nothing is sent to it until it is reopened'),
  code: z.string().nullable(),
  failingSince: instant.nullable(),
  restUntil: instant.nullable(),
  lastSentAt: instant.nullable(),
  events: z.array(event),
});

/** Operations on triggers. */
export const TRIGGER_OPERATIONS = {
  listTriggers: operation({
    summary: 'show endpoints and events: what was sent, what waits and fails, and when it is tried next',
    level: 'viewer',
    input: z.strictObject({ tenant }),
    output: z.object({ tenant: z.string(), at: instant, everyMinutes: z.number(), endpoints: z.array(endpoint) }),
    http: { method: 'GET', path: '/tenants/{tenant}/triggers' },
    commands: [{ words: 'triggers show <tenant>', isDefault: true }],
    async run({ tenant }, { services }) {
      const { listTriggers } = await import('./triggers.ts');
      return listTriggers(services.installation, tenant);
    },
  }),
  reopenTriggerEndpoint: operation({
    summary: 'use an endpoint again that was closed, and try at once what waits for it',
    level: 'operator',
    input: z.strictObject({
      tenant,
      endpoint: id,
      skip: z.boolean().default(false).describe('Never send what is there by now'),
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
