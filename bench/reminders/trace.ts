import type { Happening } from './world-plan.ts';

/**
 * Returns what happened to an appointment and its patient, one line each, for the reader of a finding.
 * @param name id of the appointment and channel, in the form of the judge
 */
export function traceOf(history: readonly Happening[], name: string): string[] {
  const [id = ''] = name.split(' ');
  const related = new Set([id]);
  const patients = new Set<string>();
  for (const one of history) {
    if (one.kind === 'appointment' && (one.id === id || one.now?.replaces === id)) {
      related.add(one.id);
      if (one.now !== null) patients.add(one.now.patientId);
    }
  }
  const addresses = new Set<string>(patients);
  for (const one of history) {
    if (one.kind === 'patient' && patients.has(one.id)) {
      for (const address of [one.now.phone, one.now.email]) if (address !== null) addresses.add(address);
    }
  }
  return history.flatMap((one) => {
    const text = lineOf(one, { related, patients, addresses });
    return text === null ? [] : [`  ${new Date(one.at).toISOString()} ${text}`];
  });
}

function lineOf(
  one: Happening,
  of: { related: ReadonlySet<string>; patients: ReadonlySet<string>; addresses: ReadonlySet<string> },
): string | null {
  switch (one.kind) {
    case 'appointment': {
      const isOf = of.related.has(one.id) || (one.now !== null && of.patients.has(one.now.patientId));
      return isOf ? `appointment ${one.id} ${describe(one.now)}` : null;
    }
    case 'patient':
      return of.patients.has(one.id) ? `patient ${JSON.stringify(one.now)}` : null;
    case 'opt-out':
      return of.addresses.has(one.address) ? `opt-out ${one.address}` : null;
    case 'message':
      return of.addresses.has(one.message.to) ? `message ${JSON.stringify(one.message)}` : null;
    case 'listing': {
      const listed = one.listed.filter((name) => of.related.has(name.split(' ', 1)[0] ?? ''));
      return `read of ${one.tenant}${listed.length > 0 ? `, listed ${listed.join(', ')}` : ''}`;
    }
  }
}

function describe(now: Extract<Happening, { kind: 'appointment' }>['now']): string {
  if (now === null) return 'is gone';
  return JSON.stringify({
    ...now,
    startAt: new Date(now.startAt).toISOString(),
    updatedAt: new Date(now.updatedAt).toISOString(),
  });
}
