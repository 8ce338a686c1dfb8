import type { Appointment } from '../../core/model/records.ts';
import type { ReadingRemark } from '../../core/model/run-schemas.ts';
import type { ClinicProfile } from '../schema/profile.ts';
import { compileIds, type FieldReader } from './records.ts';

/** What a record states about fields with several values. */
export type SeveralValues = Pick<Appointment, 'agendaIds' | 'patientIds' | 'cut'>;

/** Compiles the reading of agendas and patients that a row names several times. Equal values count once. */
export function compileSeveral({ fields, each }: ClinicProfile['appointments']): FieldReader<SeveralValues> {
  const agendasIn = compileIds(fields.agendaId, 'agendaId');
  const patientsIn = compileIds(fields.patientId, 'patientId');
  return (row) => {
    const agendaIds = agendasIn(row);
    const patientIds = patientsIn(row);
    const several = [
      ...(agendaIds.length > 1 ? (['agendaId'] as const) : []),
      ...(patientIds.length > 1 ? (['patientId'] as const) : []),
    ];
    const cut = several.filter((field) => !each.includes(field));
    return {
      ...(several.includes('agendaId') ? { agendaIds } : {}),
      ...(several.includes('patientId') && each.includes('patientId') ? { patientIds } : {}),
      ...(cut.length > 0 ? { cut } : {}),
    };
  };
}

/** Returns a remark for each field whose further values no record uses, with the number of records. */
export function severalValuesIn(
  records: Iterable<Pick<Appointment, 'cut'>>,
  { fields }: ClinicProfile['appointments'],
): ReadingRemark[] {
  const found = [...records].flatMap(({ cut = [] }) => cut);
  return (['agendaId', 'patientId'] as const).flatMap((field) => {
    const rows = found.filter((each) => each === field).length;
    const remark = { list: 'appointments', field, path: fields[field].join(', '), rows };
    return rows === 0 ? [] : [{ code: 'several-values', ...remark }];
  });
}
