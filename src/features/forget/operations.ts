import { z } from 'zod';
import { forgetReceipt } from '../../core/model/forgetting.ts';
import { changed, id, instant, tenant, toJson } from '../../core/model/schemas.ts';
import { issueText, message } from '../../messages/message.ts';
import { requireTenant } from '../../operator/control/installation.ts';
import { operation } from '../../operator/operations/operation.ts';
import { forgetPreview } from './schemas.ts';

const FORGET = 'forget <tenant> [patient]';

const ofPatient = z.strictObject({ tenant, patient: id.describe('Patient id in the clinic system') });
const who = ofPatient
  .partial({ patient: true })
  .extend({
    email: id.optional().describe('E-mail address, instead of the id'),
    phone: id.optional().describe('Telephone number, instead of the id'),
  })
  .refine(({ patient, email, phone }) => [patient, email, phone].filter((one) => one !== undefined).length === 1, {
    message: issueText(message('forget.one-of')),
  });
const whoOf = ({ patient = '', email, phone }: z.output<typeof who>) => {
  if (email !== undefined) return { kind: 'email', address: email } as const;
  return phone === undefined ? patient : ({ kind: 'phone', address: phone } as const);
};
const destination = z.looseObject({ target: z.string(), connector: z.string(), account: z.string().nullable() });
/** All fields are part of the answer. `docs/forget.md` documents the shape. */
const exported = z.looseObject({
  format: z.string(),
  exportedAt: instant,
  patient: z.string(),
  targets: z.array(destination),
  messages: z.array(z.looseObject({ id: z.string(), expiresAt: instant })),
});

/** Operations that export a patient's data, or exclude a patient from all targets. */
export const FORGET_OPERATIONS = {
  exportPatient: operation({
    summary: 'export the data held of a patient, and where it was sent; reads the clinic',
    level: 'owner',
    input: ofPatient,
    output: exported,
    // Not a task: its answer would be stored.
    http: { method: 'POST', path: '/tenants/{tenant}/export-patient' },
    commands: [
      {
        words: 'export-patient <tenant> <patient>',
        writes: {
          flags: '--out <file>',
          about: 'write the data as JSON to a new file that only you can read',
          of: (result) => `${toJson(exported.parse(result))}\n`,
        },
      },
    ],
    audit: (input, { services: { installation }, acting }) => {
      const { id } = requireTenant(installation, input.tenant);
      return { verb: 'export-patient', tenant: id, what: { patient: acting.actServices.keyed(id, input.patient) } };
    },
    async run({ tenant, patient }, { services, progress, signals }) {
      const { exportPatient } = await import('./export.ts');
      return exportPatient(services.installation, tenant, patient, { progress, signal: signals.stop });
    },
    auditResult: ({ targets, messages }) => ({ targets: targets.length, messages: messages.length }),
  }),
  previewForgetting: operation({
    summary: 'show the number of objects that forget would delete; writes nothing',
    level: 'owner',
    input: who,
    output: forgetPreview,
    http: { method: 'POST', path: '/tenants/{tenant}/forget/preview', task: 'preview-forget' },
    commands: [
      {
        words: FORGET,
        about: 'delete a patient from every target and exclude the patient; without --yes only a preview',
        by: { flags: '--dry-run', about: 'only show the preview', isUsual: true },
      },
    ],
    async run(input, { services, progress, signals }) {
      const { previewForgetting } = await import('./forget.ts');
      return previewForgetting(services.installation, input.tenant, whoOf(input), { progress, signal: signals.stop });
    },
  }),
  forgetPatient: operation({
    summary: 'delete a patient from every target and exclude the patient; repeat the request to see the progress',
    level: 'owner',
    input: who,
    output: forgetReceipt,
    http: { method: 'POST', path: '/tenants/{tenant}/forget', task: 'forget' },
    commands: [{ words: FORGET, by: { flags: '--yes', about: 'start the deletion' } }],
    audit: (input, { services: { installation }, acting }) => {
      const { id } = requireTenant(installation, input.tenant);
      const named = whoOf(input);
      const subject = acting.actServices.keyed(
        id,
        typeof named === 'string' ? named : `${named.kind}:${named.address}`,
      );
      return {
        verb: 'forget',
        tenant: id,
        what: typeof named === 'string' ? { patient: subject } : { [named.kind]: subject },
        second: { subject, isNeeded: (policy) => policy.forget },
      };
    },
    async run(input, { services, progress, signals }) {
      const { forgetPatient } = await import('./forget.ts');
      return forgetPatient(services.installation, input.tenant, whoOf(input), { progress, signals });
    },
    auditResult: ({ receipt, targets }) => ({
      receipt,
      erased: targets.reduce((sum, { erased }) => sum + erased, 0),
      waiting: targets.reduce((sum, { waiting, failed }) => sum + waiting + failed, 0),
    }),
    endsWithOne: { when: 'the erasure is not complete', holds: ({ warnings }) => warnings.includes('erasures-wait') },
  }),
  followAgain: operation({
    summary: 'sync a forgotten patient again',
    level: 'owner',
    input: ofPatient,
    output: z.object({ tenant: z.string(), ...changed.shape }),
    http: { method: 'POST', path: '/tenants/{tenant}/follow-again' },
    commands: [{ words: FORGET, by: { flags: '--undo', about: 'sync the patient again' } }],
    audit: (input, { services: { installation }, acting }) => {
      const { id } = requireTenant(installation, input.tenant);
      return { verb: 'follow-again', tenant: id, what: { patient: acting.actServices.keyed(id, input.patient) } };
    },
    async run({ tenant, patient }, { services }) {
      const { followAgain } = await import('./forget.ts');
      return followAgain(services.installation, tenant, patient);
    },
    auditResult: ({ changed }) => ({ changed }),
  }),
  listReceipts: operation({
    summary: 'list receipts of forgotten patients, oldest first; numbers only',
    level: 'viewer',
    input: z.strictObject({ tenant }),
    output: z.object({
      publicKey: z.string().describe('Verifies the signatures (PEM)'),
      receipts: z.array(forgetReceipt),
    }),
    http: { method: 'GET', path: '/tenants/{tenant}/receipts' },
    commands: [{ words: 'receipts <tenant>', isList: true }],
    async run({ tenant }, { services }) {
      const { listReceipts } = await import('./forget.ts');
      return listReceipts(services.installation, tenant);
    },
  }),
};
