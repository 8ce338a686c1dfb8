import { z } from 'zod';
import { explain } from '../../../control/explain.ts';
import { listRecords, RECORD_STATES } from '../../../control/records.ts';
import { countsByCode, instant, pageOfItems, source } from '../../../operations/schemas.ts';
import { driftPolicy } from '../../../operations/status-schemas.ts';
import { paged, type Route, route } from '../route.ts';

const recordLine = z.object({
  record: z.string(),
  code: z
    .string()
    .nullable()
    .describe('The last failure, the reason, the kind of hold, the rule, what was done by hand'),
  about: z.string().nullable().describe('Names of fields, rules and permissions; of what is held the id of the hold'),
  startAt: instant.nullable(),
  sinceAt: instant.nullable(),
  nextTryAt: instant.nullable(),
});

const recordState = z.enum(RECORD_STATES);

/** An appointment's way into a target, after the decision. */
const way = z.object({
  compared: z.object({
    at: instant.nullable().describe('When the target was last planned'),
    found: z.enum(['none', 'same', 'newer', 'gone', 'new', 'differs', 'removal']),
    fields: z.array(z.string()).describe('Names of the fields that differ, as far as known'),
  }),
  written: z.object({
    at: instant.nullable().describe('The last write, where that is known'),
    version: z.string().nullable().describe('The version tag that the target gave'),
    revision: z.number().nullable().describe('Our count of decisions that stands on the object'),
    changes: z
      .array(z.object({ at: instant, effect: z.enum(['updated', 'deleted']), reason: z.string(), run: z.string() }))
      .describe('Changes and removals that runs made, newest first'),
  }),
  readBack: z.object({
    at: instant.nullable().describe('When the target was last read back'),
    covers: z.boolean().nullable().describe('Whether that was after the last write; null: nothing was written'),
  }),
});

const explanation = z.object({
  tenant: z.string(),
  appointment: z.string(),
  source,
  askedAt: instant.describe('When the clinic was asked'),
  lastCycle: z
    .object({
      run: z.string(),
      startedAt: instant,
      completeness: z.string().nullable().describe('How much the reading of all showed; null: it failed'),
      error: z.string().nullable().describe('Code of what ended it early'),
    })
    .nullable(),
  targets: z.array(
    z.object({
      target: z.string(),
      connector: z.string(),
      decision: z.object({ shown: z.boolean(), code: z.string(), because: z.string() }),
      link: z.object({ startAt: instant, epoch: z.number(), remoteId: z.string() }).nullable(),
      byHand: z
        .object({ done: z.enum(['edited', 'removed']), fields: z.array(z.string()), policy: driftPolicy })
        .nullable(),
      pending: z
        .object({
          reason: z.string(),
          want: z.enum(['present', 'absent']),
          attempts: z.number(),
          lastError: z.string().nullable(),
          about: z.string().optional(),
          parked: z.boolean(),
          enqueuedAt: instant,
          dueAt: instant,
        })
        .nullable(),
      holds: z.array(z.object({ id: z.string(), kind: z.string(), state: z.string() })),
      failure: z.string().nullable(),
      way,
    }),
  ),
});

/** Records of targets, and why each is where it is. */
export const RECORD_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/tenants/{tenant}/targets/{target}/records',
    name: 'listRecords',
    summary:
      'Records of a target in one state, with codes, from what is known here; neither clinic nor target is asked',
    level: 'viewer',
    query: paged.extend({ state: recordState.describe('`excluded` tells of the plan that was kept last') }),
    reply: pageOfItems(recordLine).extend({
      target: z.string(),
      state: recordState,
      asOf: instant.nullable().describe('Of what is excluded: when that was planned; null: as of now'),
      counts: countsByCode.nullable().describe('Of what is excluded: how many, by rule; calendars tell no more'),
    }),
    handle: ({ desk, params, query: { state, ...question } }) =>
      listRecords(desk.installation, params.tenant, params.target, state, question),
  }),
  route({
    method: 'GET',
    path: '/tenants/{tenant}/appointments/{appointment}/explanation',
    name: 'explainAppointment',
    summary: 'Why an appointment is, or is not, in each target; asks the clinic for it',
    level: 'viewer',
    reply: explanation,
    handle: ({ desk, params, signals }) => explain(desk.installation, params.tenant, params.appointment, signals.stop),
  }),
];
