import { type Database, integer, type Row, text, textOrNull } from './database.ts';
import type { Patient, PatientDetails, PatientSummary } from './records.ts';

/** A page of a list (OFFSET and LIMIT), with the total number of rows. */
export interface Slice<T> {
  rows: T[];
  total: number;
}

export interface PatientStore {
  insert(patient: Patient): void;
  update(patient: Patient): void;
  /** True when there was one. */
  remove(tenantId: string, id: string): boolean;
  /** The patient, or undefined when the tenant has no patient with this id. */
  get(tenantId: string, id: string): Patient | undefined;
  /** Ordered by id; `updatedSince` (epoch ms, inclusive) leaves out older changes. */
  list(tenantId: string, offset: number, limit: number, updatedSince?: number): Slice<Patient>;
  /** The patient at a position of the tenant's order by id, for picking one by chance. */
  atPosition(tenantId: string, position: number): PatientSummary | undefined;
  count(tenantId: string): number;
  /** Names and contacts of several patients by id. */
  summaries(tenantId: string, ids: readonly string[]): Map<string, PatientSummary>;
}

export function createPatientStore(database: Database): PatientStore {
  return new SqlitePatients(database);
}

class SqlitePatients implements PatientStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }
  insert(patient: Patient): void {
    this.#database
      .statement('INSERT INTO patients VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)')
      .run(
        patient.id,
        patient.tenantId,
        patient.firstName,
        patient.lastName,
        patient.phone,
        patient.email,
        JSON.stringify(patient.details),
        patient.createdAt,
        patient.updatedAt,
      );
  }

  update(patient: Patient): void {
    this.#database
      .statement(
        'UPDATE patients SET first_name = ?, last_name = ?, phone = ?, email = ?, details = ?, updated_at = ? WHERE id = ?',
      )
      .run(
        patient.firstName,
        patient.lastName,
        patient.phone,
        patient.email,
        JSON.stringify(patient.details),
        patient.updatedAt,
        patient.id,
      );
  }

  remove(tenantId: string, id: string): boolean {
    const { changes } = this.#database
      .statement('DELETE FROM patients WHERE id = ? AND tenant_id = ?')
      .run(id, tenantId);
    return Number(changes) > 0;
  }

  get(tenantId: string, id: string): Patient | undefined {
    const row = this.#database.statement('SELECT * FROM patients WHERE id = ? AND tenant_id = ?').get(id, tenantId);
    return row === undefined ? undefined : toPatient(row);
  }

  list(tenantId: string, offset: number, limit: number, updatedSince = 0): Slice<Patient> {
    const rows = this.#database
      .statement('SELECT * FROM patients WHERE tenant_id = ? AND updated_at >= ? ORDER BY id LIMIT ? OFFSET ?')
      .all(tenantId, updatedSince, limit, offset);
    const counted = this.#database
      .statement('SELECT count(*) AS total FROM patients WHERE tenant_id = ? AND updated_at >= ?')
      .get(tenantId, updatedSince);
    return { rows: rows.map(toPatient), total: counted === undefined ? 0 : integer(counted, 'total') };
  }

  atPosition(tenantId: string, position: number): PatientSummary | undefined {
    const row = this.#database
      .statement('SELECT * FROM patients WHERE tenant_id = ? ORDER BY id LIMIT 1 OFFSET ?')
      .get(tenantId, position);
    return row === undefined ? undefined : toPatient(row);
  }

  count(tenantId: string): number {
    const row = this.#database.statement('SELECT count(*) AS total FROM patients WHERE tenant_id = ?').get(tenantId);
    return row === undefined ? 0 : integer(row, 'total');
  }

  summaries(tenantId: string, ids: readonly string[]): Map<string, PatientSummary> {
    if (ids.length === 0) return new Map();
    const rows = this.#database
      .statement(
        `SELECT id, first_name, last_name, phone, email FROM patients
         WHERE tenant_id = ? AND id IN (SELECT value FROM json_each(?))`,
      )
      .all(tenantId, JSON.stringify(ids));
    return new Map(rows.map((row) => [text(row, 'id'), toSummary(row)]));
  }
}

function toSummary(row: Row): PatientSummary {
  return {
    id: text(row, 'id'),
    firstName: text(row, 'first_name'),
    lastName: text(row, 'last_name'),
    phone: textOrNull(row, 'phone'),
    email: textOrNull(row, 'email'),
  };
}

function toPatient(row: Row): Patient {
  const details: PatientDetails = JSON.parse(text(row, 'details'));
  return {
    ...toSummary(row),
    tenantId: text(row, 'tenant_id'),
    details,
    createdAt: integer(row, 'created_at'),
    updatedAt: integer(row, 'updated_at'),
  };
}
