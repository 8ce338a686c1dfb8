import { describe, expect, test } from 'vitest';
import { compared, withAppointments } from './documents.ts';

describe('operations that are not there', () => {
  test('are no difference, but those without which nothing is kept in step', () => {
    const { findings } = compared(withAppointments({ type: 'object', properties: { id: { type: 'string' } } }));
    const routes = (result: string) =>
      findings.filter((one) => one.area === 'routes' && one.result === result).map(({ location }) => location);
    expect(routes('differs')).toEqual(['userInfo.read', 'agendas.list', 'appointments.read', 'locations.list']);
    expect(routes('absent')).toContain('invoices.create');
  });
});
