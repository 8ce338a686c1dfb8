import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { clinicProfileSchema } from '../../../src/clinic/schema/profile.ts';
import { profileOf } from '../../clinic/open-client.ts';
import { startScriptedServer } from '../../clinic/scripted-server.ts';
import { runProgram } from '../../operator/cli/run-program.ts';
import { openClinicAccess } from '../../operator/control/open-clinic-access.ts';
import { italianClinic } from './italian-clinic.ts';

test('prints the number of requests and the findings, writes the proposed profile, and exits with 1 if the clinic differs', async () => {
  await using server = await startScriptedServer(italianClinic);
  const clock = () => Date.parse('2026-04-01T00:00:00+02:00');
  const profile = profileOf({ pathPrefix: '/gestionale/v3' });
  const ran = await runProgram(['clinic', 'probe', 'studio-rossi', '--write', 'mine.yaml'], {
    clinic: () => openClinicAccess({ baseUrl: server.url }, 'token', profile, { clock }),
  });
  expect([ran.code, ran.thrown]).toEqual([1, null]);
  const asked = server.requests.filter(({ path }) => !path.endsWith('/userinfo'));
  expect(ran.out).toContain(`Requests sent: ${asked.length}.\n\n`);
  expect(ran.out).toMatch(/^listPath +\(none\) +elenco +sure$/m);
  expect(ran.err).toContain('The proposed profile is in mine.yaml.');
  expect(clinicProfileSchema.parse(parse(ran.written['mine.yaml'] ?? ''))).toMatchObject({ listPath: 'elenco' });
});
