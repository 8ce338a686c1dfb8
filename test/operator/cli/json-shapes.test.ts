import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { commandsOf, createProgram } from '../../../src/operator/cli/program.ts';
import { unusedOutside } from '../../../tools/unused-outside.ts';
import { appointmentOf, NOW } from '../../domain/arbitraries.ts';
import { useRedis } from '../../support/redis.ts';
import { cycle } from '../../tenant/cycle.ts';
import { createModelClinic } from '../../tenant/model-clinic.ts';
import { createModelTarget } from '../../tenant/model-target.ts';
import { openTenant } from '../../tenant/open-tenant.ts';
import { openInstallation } from '../control/open-installation.ts';
import { type Given, runProgram } from './run-program.ts';

const redis = useRedis();
const TENANT = 'studio-rossi';
const SHAPES = 'json-shapes.snap';

/** What they print is a text for a program by itself, or nothing. */
const WITHOUT_JSON = ['run', 'credentials backup', 'audit-log export', 'completion', 'mcp'];

type Shape = string | Shape[] | { [name: string]: Shape };

/** What a value is made of: kinds in place of values, and of a list what its entries have in common and beside it. */
function shapeOf(value: unknown): Shape {
  if (Array.isArray(value)) return value.map(shapeOf).reduce<Shape[]>((all, one) => merged(all, one), []);
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, shapeOf(each)]));
  }
  if (typeof value === 'string') return /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value) ? 'instant' : 'text';
  return value === null ? 'null' : typeof value;
}

function merged(all: readonly Shape[], one: Shape): Shape[] {
  return all.some((each) => JSON.stringify(each) === JSON.stringify(one)) ? [...all] : [...all, one];
}

/** Numbers that only an instant could be. */
function epochsIn(value: unknown, path = ''): string[] {
  if (typeof value === 'number') return value > 1e11 && value < Number.MAX_SAFE_INTEGER ? [path] : [];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, each]) => epochsIn(each, `${path}.${name}`));
}

describe('as JSON', () => {
  /** A clinic with a removal that is held, and an appointment that its target refuses. */
  async function open(): Promise<{ given: Given; hold: string }> {
    const clinic = createModelClinic();
    for (let index = 0; index < 30; index += 1) {
      clinic.appointments.set(`${index}`, appointmentOf(`${index}`, { inHours: 24 + index }));
    }
    const model = createModelTarget();
    const tenant = openTenant({ redis: redis.connect(), clinic, targets: [{ model }], clock: () => NOW });
    const given = {
      installation: openInstallation({ tenants: [tenant] }),
      files: { 'spec.json': readFileSync(new URL('../../fixtures/openapi-italian.json', import.meta.url), 'utf8') },
    };
    await cycle(tenant);
    model.fault = ({ recordId }) => (recordId === 'new' ? 'refused' : null);
    clinic.appointments.clear();
    clinic.appointments.set('new', appointmentOf('new', { inHours: 30 }));
    await cycle(tenant);
    return { given, hold: (await tenant.holds.list())[0]?.id ?? '' };
  }

  test('every command with output has the option --json', () => {
    const commands = commandsOf(createProgram(unusedOutside())).map(({ words, command }) => ({
      name: words.slice('clinic-mirror '.length),
      hasJson: command.options.some(({ long }) => long === '--json'),
    }));
    expect(
      commands
        .filter(({ hasJson }) => !hasJson)
        .map(({ name }) => name)
        .toSorted(),
    ).toEqual(WITHOUT_JSON.toSorted());
  });

  test('answers keep their recorded shape, with instants as RFC 3339', async () => {
    const { given, hold } = await open();
    const commands = [
      ['config', 'check'],
      ['holds', 'list'],
      ['holds', 'reject', TENANT, hold],
      ['plan', TENANT],
      ['sync', TENANT],
      ['audit', TENANT],
      ['status'],
      ['status', '--problems'],
      ['explain', TENANT, 'new'],
      ['health', TENANT],
      ['runs'],
      ['receipts', TENANT],
      ['accept-loss', TENANT],
      ['check-spec', 'spec.json'],
    ];
    const shapes: Record<string, Shape> = {};
    for (const command of commands) {
      const { out, thrown } = await runProgram([...command, '--json'], given);
      expect(thrown, command.join(' ')).toBeNull();
      const value: unknown = JSON.parse(out);
      expect(epochsIn(value), command.join(' ')).toEqual([]);
      shapes[command.filter((word) => word !== hold).join(' ')] = shapeOf(value);
    }
    await expect(`${JSON.stringify(shapes, null, 2)}\n`).toMatchFileSnapshot(SHAPES);
  });
});
