import { describe, expect, test } from 'vitest';
import { OPERATIONS } from '../../../src/clinic/schema/operations.ts';
import {
  CLINIC_RESOURCES,
  CLINIC_WRITES,
  commandOf,
  operationOf,
} from '../../../src/operator/control/clinic-question.ts';

describe('the command of an operation of the clinic API', () => {
  test.each(OPERATIONS)('means $name, or another operation with the same request', (operation) => {
    const command = commandOf(operation);
    const { resource, verb, ids } = commandOf(operationOf(command));
    expect([resource, verb, ids.length]).toEqual([command.resource, command.verb, command.ids.length]);
    expect(command.ids).not.toContain('tenantId');
    expect(CLINIC_RESOURCES).toContain(command.resource);
    expect(CLINIC_WRITES.includes(command.verb)).toBe(
      OPERATIONS.some((one) => one.method !== 'GET' && commandOf(one).verb === command.verb),
    );
  });

  test('reads a list without an id and a record with one', () => {
    const names = [[], ['7']].map((ids) => operationOf({ resource: 'patients', verb: 'read', ids }).name);
    expect(names).toEqual(['patients.list', 'patients.read']);
  });
});

describe('no-such-operation', () => {
  const refused = (remedy: string) =>
    expect.objectContaining({ actor: 'settings', code: 'no-such-operation', remedy: expect.stringContaining(remedy) });

  test('for an unknown resource lists the resources', () => {
    expect(() => operationOf({ resource: 'patient', verb: 'read', ids: [] })).toThrow(refused('patients'));
  });

  test('for an unknown verb lists the verbs of the resource', () => {
    expect(() => operationOf({ resource: 'patients', verb: 'sing', ids: [] })).toThrow(refused('read'));
  });

  test('for a wrong number of ids lists the ids', () => {
    expect(() => operationOf({ resource: 'patients', verb: 'update', ids: [] })).toThrow(refused('patientId'));
    expect(() => operationOf({ resource: 'patients', verb: 'read', ids: ['1', '2'] })).toThrow(refused('no id'));
  });
});
