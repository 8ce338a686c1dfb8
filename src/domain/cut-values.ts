import { type Appointment, belongsTo } from '../core/model/records.ts';
import type { TargetGap } from '../core/model/run-schemas.ts';
import { countEach } from '../core/model/snapshots.ts';
import type { ClinicTarget } from './cycle-input.ts';
import { streamsOf } from './mapping-sources.ts';

/** Returns cut appointments with agendas or patients that a target may lack. A calendar without names shows no patient. */
export function cutFor(target: ClinicTarget, cut: readonly Appointment[]): TargetGap[] {
  const { agendas, title } = target.configuration;
  const isOfHistory = streamsOf(target).includes('history');
  if (target.stream !== 'appointments' && !isOfHistory) return [];
  const ofPatients = target.crm !== null || title === 'initials' || title === 'full';
  return cutIn(cut, isOfHistory ? 'all' : agendas, ofPatients);
}

/**
 * Returns cut appointments of agendas with further agendas or patients that the profile does not use.
 * @param ofPatients whether further patients matter
 */
export function cutIn(cut: readonly Appointment[], agendas: 'all' | readonly string[], ofPatients: boolean) {
  const lacking: string[] = [];
  for (const appointment of cut) {
    const belongs = belongsTo(appointment, agendas);
    if (belongs === 'unclear') lacking.push('agendaId');
    if (ofPatients && belongs !== false && appointment.cut?.includes('patientId') === true) lacking.push('patientId');
  }
  return Object.entries(countEach(lacking)).map(([field, count]): TargetGap => {
    return { code: 'values-unused', count, what: [field], soon: [] };
  });
}
