import { z } from 'zod';
import { changed, id, tenant } from '../../core/model/schemas.ts';
import { requireTenant } from '../../operator/control/installation.ts';
import { operation } from '../../operator/operations/operation.ts';
import { explanation, reminders, replies } from './schemas.ts';

/** Operations on reminders. */
export const REMINDER_OPERATIONS = {
  listReminders: operation({
    summary: 'list planned reminders by due time, or finished reminders, newest first',
    level: 'viewer',
    input: z.strictObject({
      tenant,
      state: z.enum(['upcoming', 'settled']).default('upcoming'),
      day: z
        .string()
        .nullable()
        .default(null)
        .describe('Reminders due on a local day, such as 2026-11-30 or `tomorrow`, from current clinic data'),
      limit: z.coerce.number().int().min(1).max(500).default(100).describe('Maximum number of finished reminders'),
    }),
    output: reminders,
    http: { method: 'GET', path: '/tenants/{tenant}/reminders' },
    commands: [
      {
        words: 'reminders upcoming <tenant>',
        about: 'list planned reminders; with --day, reads the clinic for that day',
        fixed: { state: 'upcoming' },
        options: {
          day: { flags: '--day [date]', preset: 'tomorrow', about: 'tomorrow, or a local day such as 2026-11-30' },
        },
      },
      {
        words: 'reminders sent <tenant>',
        about: 'list sent, dropped and uncertain reminders, newest first',
        fixed: { state: 'settled', day: null },
      },
    ],
    async run({ tenant, state, day, limit }, { services: { installation }, signals }) {
      const { previewDay, finishedReminders, upcomingReminders } = await import('./reminders.ts');
      if (day !== null) return previewDay(installation, tenant, day === 'tomorrow' ? null : day, signals.stop);
      return state === 'upcoming'
        ? upcomingReminders(installation, tenant)
        : finishedReminders(installation, tenant, limit);
    },
  }),
  explainReminders: operation({
    summary: 'explain the reminders of an appointment; reads the clinic',
    level: 'viewer',
    input: z.strictObject({ tenant, appointment: id }),
    output: explanation,
    http: { method: 'GET', path: '/tenants/{tenant}/appointments/{appointment}/reminders' },
    commands: [
      {
        words: 'reminders explain <tenant> <appointment>',
        about: 'explain the reminders of one appointment',
      },
    ],
    async run({ tenant, appointment }, { services, signals }) {
      const { explainReminders } = await import('./reminders.ts');
      return explainReminders(services.installation, tenant, appointment, signals.stop);
    },
  }),
  optOut: operation({
    summary: 'add or remove an opt-out of a phone number or e-mail address',
    level: 'operator',
    input: z.strictObject({
      tenant,
      kind: z.enum(['phone', 'email']).describe('Phone number or e-mail address'),
      address: z
        .string()
        .max(500)
        .describe('A mobile number, preferably with international prefix, or an e-mail address'),
      lift: z.boolean().default(false).describe('Remove the opt-out'),
    }),
    output: z.object({ tenant: z.string(), kind: z.string(), lift: z.boolean(), changed: z.boolean() }),
    // Contact data of a patient would appear in logs of proxies.
    http: null,
    commands: [
      {
        words: 'reminders opt-out <tenant> <kind>',
        about: 'stop reminders to a number or e-mail address from standard input',
        options: { lift: { about: 'remove the opt-out' } },
        reads: { field: 'address' },
      },
    ],
    audit: ({ tenant, kind, lift }, { services: { installation } }) => ({
      verb: lift ? 'lift-opt-out' : 'opt-out',
      tenant: requireTenant(installation, tenant).id,
      what: { kind },
    }),
    async run({ tenant, ...address }, { services }) {
      const { optOut } = await import('./reminders.ts');
      const { changed } = await optOut(services.installation, tenant, address);
      return { tenant, kind: address.kind, lift: address.lift, changed };
    },
    auditResult: ({ changed }) => ({ changed }),
  }),
  listReplies: operation({
    summary: 'list replies of patients in the last three days, with numbers and texts',
    level: 'operator',
    input: z.strictObject({ tenant }),
    output: replies,
    http: { method: 'GET', path: '/tenants/{tenant}/reminder-replies' },
    commands: [{ words: 'reminders replies <tenant>', isOfOneTenant: true }],
    async run({ tenant }, { services }) {
      const { listReplies } = await import('./reminders.ts');
      return listReplies(services.installation, tenant);
    },
    document: async () => (await import('./replies.ts')).repliesDocument,
    page: {
      path: '/replies',
      names: { en: 'Replies', it: 'Risposte' },
      isOf: ({ reminders }) => reminders !== null,
    },
  }),
  endReply: operation({
    summary: 'delete a reply of a patient that the clinic has read',
    level: 'operator',
    input: z.strictObject({ tenant, reply: id }),
    output: z.object({ tenant: z.string(), ...changed.shape }),
    http: { method: 'POST', path: '/tenants/{tenant}/reminder-replies/{reply}/end' },
    commands: [{ words: 'reminders answered <tenant> <reply>' }],
    audit: ({ tenant }, { services: { installation } }) => ({
      verb: 'end-reply',
      tenant: requireTenant(installation, tenant).id,
      what: {},
    }),
    async run({ tenant, reply }, { services }) {
      const { endReply } = await import('./reminders.ts');
      return { tenant, ...(await endReply(services.installation, tenant, reply)) };
    },
    auditResult: ({ changed }) => ({ changed }),
  }),
  reopenReminderChannel: operation({
    summary: 'reopen a channel that was closed because of its receiver',
    level: 'operator',
    input: z.strictObject({ tenant, channel: id }),
    output: z.object({ tenant: z.string(), channel: z.string(), ...changed.shape }),
    http: { method: 'POST', path: '/tenants/{tenant}/reminder-channels/{channel}/reopen' },
    commands: [{ words: 'reminders reopen <tenant> <channel>' }],
    audit: ({ tenant, channel }, { services: { installation } }) => {
      const { id, configuration } = requireTenant(installation, tenant);
      const isConfigured = configuration.reminders?.channels.has(channel) === true;
      return { verb: 'reopen-channel', tenant: id, what: { channel: isConfigured ? channel : null } };
    },
    async run({ tenant, channel }, { services }) {
      const { reopenChannel } = await import('./reminders.ts');
      return { tenant, channel, ...(await reopenChannel(services.installation, tenant, channel)) };
    },
    auditResult: ({ changed }) => ({ changed }),
  }),
};
