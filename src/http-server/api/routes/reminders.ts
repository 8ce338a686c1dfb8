import { z } from 'zod';
import { reopenChannel } from '../../../control/acts.ts';
import { explainReminders, settledReminders, upcomingReminders } from '../../../control/reminders.ts';
import { type Route, route } from '../route.ts';
import { instant } from '../schemas/common.ts';
import { source } from './records.ts';

const reminder = z.object({
  id: z.string().nullable(),
  appointment: z.string(),
  rule: z.string(),
  channel: z.string(),
  dueAt: instant,
  startAt: instant,
  zone: z.string(),
  correction: z.enum(['moved', 'changed', 'cancelled']).nullable().describe('What it corrects; null for a reminder'),
  state: z.enum(['planned', 'sending', 'sent', 'dropped', 'unknown']),
  reason: z.string().nullable(),
  settledAt: instant.nullable(),
  attempts: z.number(),
  lastCode: z.string().nullable(),
  reference: z.string().nullable(),
  report: z.object({ state: z.enum(['delivered', 'failed']), code: z.string().nullable(), at: instant }).nullable(),
  answer: z.object({ is: z.enum(['confirmed', 'cancelled']), at: instant }).nullable(),
});

const rule = z.union([
  z.object({ rule: z.string(), channel: z.string(), dueAt: instant, zone: z.string() }),
  z.object({ rule: z.string(), channel: z.string(), excluded: z.string() }),
]);

/** Reminders: no names, no addresses. */
export const REMINDER_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/tenants/{tenant}/reminders',
    name: 'listReminders',
    summary:
      'Reminders that are planned and being sent, in the order of their time; or those that came to their end, newest first',
    level: 'viewer',
    query: z.strictObject({
      state: z.enum(['upcoming', 'settled']).default('upcoming'),
      limit: z.coerce.number().int().min(1).max(500).default(100).describe('Most of those that came to their end'),
    }),
    reply: z.object({
      tenant: z.string(),
      complete: z.boolean().describe("False when the clinic's list was not whole"),
      reminders: z.array(reminder),
    }),
    handle: ({ desk: { installation }, params: { tenant }, query: { state, limit } }) =>
      state === 'upcoming' ? upcomingReminders(installation, tenant) : settledReminders(installation, tenant, limit),
  }),
  route({
    method: 'GET',
    path: '/tenants/{tenant}/appointments/{appointment}/reminders',
    name: 'explainReminders',
    summary: 'Why an appointment had, has or will have its reminders, or none; asks the clinic for it',
    level: 'viewer',
    reply: z.object({
      tenant: z.string(),
      appointment: z.string(),
      source,
      rules: z.array(rule),
      reminders: z.array(reminder),
    }),
    handle: ({ desk, params, signals }) =>
      explainReminders(desk.installation, params.tenant, params.appointment, signals.stop),
  }),
  route({
    method: 'POST',
    path: '/tenants/{tenant}/reminder-channels/{channel}/reopen',
    name: 'reopenReminderChannel',
    summary: 'Open a channel again that was closed because its other side was gone',
    level: 'operator',
    reply: z.object({ changed: z.boolean() }),
    handle: ({ acting, desk, params }) => reopenChannel(acting, desk.installation, params.tenant, params.channel),
  }),
];
