import { z } from 'zod';
import { countsByCode, id, instant, optionalTarget, paging, tenant } from '../../core/model/schemas.ts';
import {
  decision,
  explainedTarget,
  explanation,
  healthView,
  pendingChange,
  recordList,
  stateOfRecord,
  targetHealth,
} from '../control/record-schemas.ts';
import { operation } from './operation.ts';

/** Operations that show records of targets, and the reason for each state. */
export const RECORD_OPERATIONS = {
  listRecords: operation({
    summary:
      'list the records of a target in one state, with codes; uses saved state only and reads neither the clinic nor the target',
    level: 'viewer',
    input: z.strictObject({
      tenant,
      target: id,
      state: stateOfRecord.describe('`excluded` is based on the last saved plan'),
      ...paging,
    }),
    output: recordList,
    http: { method: 'GET', path: '/tenants/{tenant}/targets/{target}/records' },
    commands: [],
    async run({ tenant, target, state, ...page }, { services: { installation } }) {
      const { listRecords } = await import('../control/records.ts');
      return listRecords(installation, { tenant, target, state }, page);
    },
  }),
  explainAppointment: operation({
    summary: 'explain the state of an appointment in each target; reads the clinic',
    level: 'viewer',
    input: z.strictObject({ tenant, appointment: id.describe('Appointment id in the clinic system') }),
    output: explanation,
    http: { method: 'GET', path: '/tenants/{tenant}/appointments/{appointment}/explanation' },
    commands: [{ words: 'explain <tenant> <appointment>' }],
    async run({ tenant, appointment }, { services: { installation }, signals }) {
      const { explain } = await import('../control/explain.ts');
      return explain(installation, tenant, appointment, signals.stop);
    },
    document: async () => (await import('../documents/explain.ts')).explanationDocument,
    assistants: [
      {
        name: 'explain',
        about: "Why an appointment is or is not in each target, by the clinic's appointment id",
        output: z.object({
          tenant: z.string(),
          appointment: z.string(),
          source: z.object({ state: z.string(), status: z.string().nullable(), code: z.string().nullable() }),
          targets: z.array(
            explainedTarget.pick({ target: true, name: true, connector: true, failure: true }).extend({
              ...decision.shape,
              isThere: z.boolean(),
              byHand: z.string().nullable().describe('Manual change of the event'),
              pending: pendingChange
                .pick({ reason: true, want: true, attempts: true, lastError: true, dueAt: true })
                .nullable(),
              holds: z.array(z.string()),
            }),
          ),
        }),
        of: ({ source, targets, ...others }) => ({
          ...others,
          source: { status: null, code: null, ...source },
          targets: targets.map((target) => ({
            ...{ ...target, ...target.decision, isThere: target.link !== null },
            byHand: target.byHand?.done ?? null,
            holds: target.holds.map(({ id, state }) => `${id}: ${state}`),
          })),
        }),
      },
    ],
  }),
  readHealth: operation({
    summary: 'list synced, excluded and failing records per target; reads the clinic',
    level: 'viewer',
    input: z.strictObject({ tenant, target: optionalTarget }),
    output: healthView,
    // Programs get the records of a target in pages, without a clinic read.
    http: null,
    commands: [{ words: 'health <tenant> [target]', isList: true }],
    async run({ tenant, target }, { services: { installation }, progress, signals }) {
      const { tenantHealth } = await import('../control/health.ts');
      return tenantHealth(installation, tenant, { target, progress }, signals.stop);
    },
    endsWithOne: {
      when: 'a record is failing',
      holds: ({ targets }) => targets.some(({ failing }) => failing.length > 0),
    },
    assistants: [
      {
        name: 'health',
        about: 'Per target: number of records in sync, excluded and failing, with reasons; reads the clinic',
        output: z.object({
          tenant: z.string(),
          asOf: instant,
          targets: z.array(
            targetHealth
              .pick({ target: true, connector: true, stream: true, inSync: true, pending: true, held: true })
              .extend({ ...targetHealth.pick({ changedByHand: true, unread: true }).shape })
              .extend({ excluded: countsByCode, failing: countsByCode }),
          ),
        }),
        of: ({ targets, ...others }) => ({
          ...others,
          targets: targets.map(({ excluded, failing, ...target }) => {
            const failures: Record<string, number> = {};
            for (const { why } of failing) failures[why] = (failures[why] ?? 0) + 1;
            return { ...target, excluded: excluded.counts, failing: failures };
          }),
        }),
      },
    ],
  }),
};
