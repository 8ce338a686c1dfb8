import { z } from 'zod';
import { backUp, followAgain, forgetPatient, restore } from '../../../control/acts.ts';
import { listReceipts, previewForgetting } from '../../../control/forget.ts';
import { instant } from '../../../operations/schemas.ts';
import { type Route, route, withReason } from '../route.ts';

/** A sealed backup as text. */
const BACKUP_LIMIT_BYTES = 33_554_432;

const patient = withReason.extend({ patient: z.string().min(1).max(200).describe('The id that the clinic gives') });
const reach = z.enum(['wholly', 'bin']);

const receipt = z.object({
  receipt: z.string(),
  tenant: z.string(),
  at: instant,
  tombstone: z.string(),
  upcoming: z.number(),
  targets: z.array(
    z.object({
      target: z.string(),
      connector: z.string(),
      found: z.number(),
      erased: z.number(),
      reach,
      waiting: z.number(),
      failed: z.number(),
      failure: z.string().nullable(),
    }),
  ),
  state: z.object({
    journalLines: z.number(),
    pins: z.number(),
    holds: z.number(),
    notes: z.number(),
    reminders: z.number(),
    answerLinks: z.number(),
    examples: z.number(),
  }),
  notes: z.array(z.string()),
});

/** What can't be taken back, or protects people. */
export const PEOPLE_ROUTES: readonly Route[] = [
  route({
    method: 'POST',
    path: '/tenants/{tenant}/forget/preview',
    name: 'previewForgetting',
    summary: 'What forgetting a patient would take away, in numbers; writes nothing',
    level: 'owner',
    body: patient,
    reply: z.object({
      tenant: z.string(),
      isForgotten: z.boolean(),
      appointments: z.number(),
      invoices: z.number(),
      upcoming: z.number(),
      targets: z.array(
        z.object({ target: z.string(), connector: z.string(), linked: z.number(), toLookFor: z.number(), reach }),
      ),
      reminders: z.number(),
      answerLinks: z.number(),
      notes: z.array(z.string()),
    }),
    task: 'preview-forget',
    handle: ({ desk, params, body, progress, signals }) =>
      previewForgetting(desk.installation, params.tenant, body.patient, progress, signals.stop),
  }),
  route({
    method: 'POST',
    path: '/tenants/{tenant}/forget',
    name: 'forgetPatient',
    summary: 'Take a patient out of every target and keep them out; again, it tells how that stands',
    level: 'owner',
    body: patient,
    reply: receipt,
    task: 'forget',
    handle: ({ acting, desk, params, body, progress, signals }) =>
      forgetPatient(acting, desk.installation, params.tenant, body.patient, progress, signals),
  }),
  route({
    method: 'POST',
    path: '/tenants/{tenant}/follow-again',
    name: 'followAgain',
    summary: 'Follow a forgotten patient again',
    level: 'owner',
    body: patient,
    reply: z.object({ tenant: z.string(), changed: z.boolean() }),
    handle: ({ acting, desk, params, body }) => followAgain(acting, desk.installation, params.tenant, body.patient),
  }),
  route({
    method: 'GET',
    path: '/tenants/{tenant}/receipts',
    name: 'listReceipts',
    summary: 'Proofs that patients were forgotten, oldest first: nothing of the patients is in them',
    level: 'viewer',
    reply: z.object({ receipts: z.array(receipt) }),
    handle: async ({ desk, params }) => ({ receipts: await listReceipts(desk.installation, params.tenant) }),
  }),
  route({
    method: 'POST',
    path: '/tenants/{tenant}/backup',
    name: 'backUp',
    summary: 'A sealed copy of what of a tenant can not be rebuilt',
    level: 'owner',
    reply: z.object({ backup: z.string() }),
    handle: async ({ acting, desk, params }) => ({
      backup: await backUp(acting, desk.installation, desk.backups, params.tenant),
    }),
  }),
  route({
    method: 'POST',
    path: '/tenants/{tenant}/restore',
    name: 'restore',
    summary: 'Put back what is missing of a backup; nothing that stands is replaced',
    level: 'owner',
    body: withReason.extend({ backup: z.string() }),
    bodyLimit: BACKUP_LIMIT_BYTES,
    reply: z.object({
      restored: z.array(z.string()),
      kept: z.array(z.string()),
      protections: z.number(),
      pins: z.number(),
      at: instant,
    }),
    handle: ({ acting, desk, params, body }) =>
      restore(acting, desk.installation, desk.backups, params.tenant, body.backup),
  }),
];
