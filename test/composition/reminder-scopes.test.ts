import { expect, test } from 'vitest';
import { clinicScopes } from '../../src/composition/clinic-scopes.ts';
import { reminderChannels } from '../../src/features/reminders/channels/registry.ts';
import { ENV, load, TENANT, writeConfiguration } from '../settings/configuration-directory.ts';

const HOOK_SECRET = `whsec_${Buffer.alloc(32, 5).toString('base64')}`;
const HOOK = 'kind: webhook, settings: { url: "https://hook.test/in", secrets: [{ env: TENANT_UNO__HOOK }]';

test.each([
  ['no reminders', null, false],
  ['a webhook that is told ids', `{ ${HOOK} } }`, false],
  ['a webhook that is told the text', `{ ${HOOK}, fields: [text] } }`, true],
  ['a webhook for those who agreed', `{ consent: privacy, ${HOOK} } }`, true],
  ['mails', '{ kind: email, settings: { host: mail.test, from: us@clinic.test } }', true],
])('%s: whether the login to the clinic needs its patients', (_, channel, needsPatients) => {
  const reminders = `reminders: { channels: { one: ${channel} }, rules: { r: { before: P1D, channels: [one] } } }\n`;
  const dir = writeConfiguration({ 'tenants/uno.yaml': channel === null ? TENANT : TENANT + reminders });
  const tenant = load(dir, { reminderChannels, env: { ...ENV, TENANT_UNO__HOOK: HOOK_SECRET } }).tenants.get('uno');
  if (tenant === undefined) throw new Error('no tenant');
  expect(clinicScopes(tenant, 'x.').includes('x.patients')).toBe(needsPatients);
});
