import { z } from 'zod';
import { requireTenant } from '../../control/installation.ts';
import { operation } from '../../operations/operation.ts';
import { id, instant, tenant } from '../../operations/schemas.ts';

const closed = z.object({ code: z.string(), at: instant });
const event = z.object({
  event: z.string(),
  sinceAt: instant.nullable().describe('Only changes after this time are sent'),
  readAt: instant.nullable().describe('Time of the last read of the clinic'),
  off: z.object({ code: z.string(), at: instant, remedy: z.string().nullable() }).nullable(),
  waiting: z.number().describe('Number of messages that the receiver has not accepted'),
  failing: z.number().describe('Number of refused messages among the pending messages'),
  lastCode: z.string().nullable(),
  nextTryAt: instant.nullable(),
  sent: z.number().describe('Number of sent messages since the state began'),
  dropped: z.number(),
  failedTries: z.number(),
});
const endpoint = z.object({
  endpoint: z.string(),
  closed: closed.nullable().describe('Null if the endpoint is open; a closed endpoint gets no messages until reopened'),
  code: z.string().nullable(),
  failingSince: instant.nullable(),
  restUntil: instant.nullable(),
  lastSentAt: instant.nullable(),
  events: z.array(event),
});

/** Operations on triggers. */
export const TRIGGER_OPERATIONS = {
  listTriggers: operation({
    summary: 'show trigger endpoints and events, with pending and failed messages',
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
