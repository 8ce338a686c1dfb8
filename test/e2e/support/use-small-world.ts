import { readFileSync } from 'node:fs';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { parse, stringify } from 'yaml';
import type { RedisClient } from '../../../src/state/redis.ts';
import { createProofSealer } from '../../../src/state/sealing.ts';
import { createTargetStore } from '../../../src/state/targets.ts';
import { waitFor } from '../../support/wait-for.ts';
import type { SmallWorldOptions } from './small-configuration.ts';
import { type SmallWorld, startSmallWorld } from './small-world.ts';

/** A small world for one test, everybody logged in; gone when the test ends. */
export async function useSmallWorld(options: SmallWorldOptions): Promise<SmallWorld> {
  const world = await startSmallWorld(options);
  onTestFinished(() => world.close());
  await world.logIn();
  return world;
}

/** What a comparison says when a target shows exactly what the clinic shows. */
export const EXACT = { duplicates: 0, missing: 0 };

/** Every target shows exactly what the clinic shows. */
export async function expectExact(world: SmallWorld, when?: string): Promise<void> {
  const comparisons = await world.compareAll();
  expect(comparisons, when).toEqual(world.targets.map(() => expect.objectContaining(EXACT)));
}

/** Cycles as the daemon makes them, until something is so: failure is noticed in one and mended in the next, and what is gone is missed twice. */
export async function cycleUntil(world: SmallWorld, condition: () => Promise<boolean>): Promise<void> {
  const cycleAndLook = async () => {
    await world.cycle();
    return await condition();
  };
  await waitFor(cycleAndLook, { what: 'the calendars to follow', intervalMs: 50 });
}

/** Whether a comparison says so. */
export function isExact({ duplicates, missing }: { duplicates: number; missing: number }): boolean {
  return duplicates === 0 && missing === 0;
}

interface TenantFile {
  targets: Record<string, { title?: string; agendas?: string[] }>;
}

/** The file of a tenant. */
export function tenantFile({ configDir }: Pick<SmallWorld, 'configDir'>, tenant: string): string {
  return join(configDir, 'tenants', `${tenant}.yaml`);
}

/** Changes a tenant's file as an editor does: another file takes its place. */
export async function editTenant(world: SmallWorld, tenant: string, change: (file: TenantFile) => void): Promise<void> {
  const name = tenantFile(world, tenant);
  const content = parse(await readFile(name, 'utf8')) as TenantFile;
  change(content);
  await writeFile(`${name}.new`, stringify(content));
  await rename(`${name}.new`, name);
}

/** Gives every target of a tenant a title. */
export function retitle(world: SmallWorld, tenant: string, title: 'busy' | 'appointment'): Promise<void> {
  return editTenant(world, tenant, ({ targets }) => {
    for (const target of Object.values(targets)) target.title = title;
  });
}

/** One event as somebody who looks at the calendar finds it. */
export interface ShownEvent {
  id: string;
  summary: string;
}

/** The events of a tenant's first calendar at Google; none before it is there. */
export async function shownEvents(world: SmallWorld, redis: RedisClient, tenant: string): Promise<ShownEvent[]> {
  const { container } = await createTargetStore(redis, tenant, createProofSealer(Buffer.alloc(32, 1), tenant)).read(
    'doctor-1',
  );
  if (container == null) return [];
  return world.google.events(container).map(({ id, summary }) => ({ id: String(id), summary: String(summary) }));
}

/** Lines of a daemon's log with these words; where to sign in first is told to people, beside the log. */
export function logged({ dir }: Pick<SmallWorld, 'dir'>, message: string): Record<string, unknown>[] {
  const lines = readFileSync(join(dir, 'daemon.log'), 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('{'));
  return lines.flatMap((line) => {
    const entry = JSON.parse(line) as Record<string, unknown>;
    return entry.msg === message ? [entry] : [];
  });
}
