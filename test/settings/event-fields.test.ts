import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { FactSearch } from '../../src/core/model/patient-facts.ts';
import { eventCheck } from '../../src/domain/egress.ts';
import { fieldTeller } from '../../src/domain/field-changes.ts';
import { type ProjectionPolicy, project } from '../../src/domain/project.ts';
import type { TargetConfiguration } from '../../src/settings/configuration.ts';
import { ALLOWED_FIELDS, EVENT_FIELDS, fieldText, parseTitleFormat } from '../../src/settings/event-fields.ts';
import { appointmentOf, NAMED_DIRECTORY, STATUSES } from '../domain/arbitraries.ts';

const KEY = 'verdi'.padEnd(32, '0');
const PATIENT = { id: 'p1', firstName: 'Ada', lastName: 'Neri' };
const APPOINTMENT = appointmentOf('1', { treatmentId: 't1', patient: PATIENT });

/** A target that shows one field, in the title or in the usual part of an event. */
function policyOf(field: (typeof ALLOWED_FIELDS)[number], language: 'en' | 'it', place: 'title' | 'usual') {
  const titleFormat = place === 'title' ? parseTitleFormat(`{title}[ {${field}}]`)! : undefined;
  return {
    ...{ title: 'appointment', titleFormat, fields: [field], statuses: STATUSES, free: [], tentative: [] },
    ...{ visibility: 'private', labels: [], links: [], presets: [], language, zone: 'Europe/Rome' },
  } satisfies ProjectionPolicy;
}

const CASES = ALLOWED_FIELDS.flatMap((field) =>
  (['en', 'it'] as const).flatMap((language) =>
    (['title', 'usual'] as const).map((place) => [field, language, place] as const),
  ),
);

test.each(CASES)(
  '%s (%s, in the %s place) is in the event, passes the check, and is shown by the plan',
  (field, language, place) => {
    const policy = policyOf(field, language, place);
    const text = fieldText(field, APPOINTMENT, NAMED_DIRECTORY, language) ?? expect.fail('the appointment has no text');
    const item = project(APPOINTMENT, policy, NAMED_DIRECTORY, () => KEY) ?? expect.fail('the appointment is shown');
    const shown = place === 'title' ? item.title : `${item.description ?? ''}${item.location ?? ''}`;
    expect(shown).toContain(text);

    expect(eventCheck(policy, NAMED_DIRECTORY, new FactSearch())(item, APPOINTMENT, () => KEY)).toEqual({ item });
    const foreign = { ...item, description: `${item.description ?? ''}\nNeri` };
    expect(eventCheck(policy, NAMED_DIRECTORY, new FactSearch())(foreign, APPOINTMENT, () => KEY)).toHaveProperty(
      'retain',
    );

    const configuration = { title: policy.title, labels: [] } as unknown as TargetConfiguration;
    const told = fieldTeller({ configuration, crm: null }, NAMED_DIRECTORY)({ fields: [], wanted: item, held: null });
    expect(JSON.stringify(told)).toContain(text);
    expect(JSON.stringify(told)).not.toContain('…');
  },
);

test('each field is explained in the documentation of the setting', () => {
  const page = readFileSync('docs/configuration.md', 'utf8');
  for (const field of ALLOWED_FIELDS) expect(page).toContain(`\`${field}\` (${EVENT_FIELDS[field].description})`);
});
