import type { Problem } from '../../../src/core/model/problems.ts';
import type { Health, SyncStatus } from '../../../src/core/model/schemas.ts';
import { SYNC_HEALTH_WORDS } from '../../../src/core/model/sync-state.ts';
import type { Composition } from '../../../src/daemon/compose.ts';
import { stopsInstallation } from '../../../src/operator/control/installation-problems.ts';
import { openStatuses } from '../../../src/operator/control/statuses.ts';
import { type Fault, INSTALLATION_FAULTS } from '../../../tools/fault-table.ts';
import { runProgram } from '../../operator/cli/run-program.ts';
import { openSkins, type Skins } from './surfaces.ts';

/** What an interface says of a clinic and of the installation. A part is absent where the interface does not have it. */
export interface Said {
  sync?: string | undefined;
  health?: string | undefined;
  /** Codes of problems of the clinic and of the installation, sorted. */
  codes: string[];
  /** The codes of the clinic alone. */
  own?: string[];
  /** Exit code of the command, or status of the answer. */
  result?: number;
}

/** Every interface at one time, except of alerts, which wait. */
export type Told = Record<
  'status' | 'status --json' | 'Overview' | 'tenant page' | 'API' | 'MCP' | '/readyz' | '/metrics',
  Said
>;

/** How the interfaces are read. */
export interface Views {
  composition: Composition;
  tenant: string;
  /** Answer of the operator port. */
  operator(path: string): Promise<{ status: number; body: string }>;
  /** Default: pages that compute a new status. */
  skins?: Skins;
}

const WORDS: ReadonlyMap<string, string> = new Map(
  (['in-sync', 'behind', 'on-hold', 'unknown', 'ok', 'retrying', 'action-required'] as const).map((key) => [
    SYNC_HEALTH_WORDS.en[key satisfies SyncStatus | Health],
    key,
  ]),
);
const keyOf = (word: string | undefined) => WORDS.get(word?.replace(/, first sync.*/, '') ?? '');

const sorted = (codes: readonly string[]) => [...new Set(codes)].sort();
const codesOf = (problems: readonly Pick<Problem, 'code'>[]) => sorted(problems.map(({ code }) => code));
const matches = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, found = '']) => found);

/** Reads the interfaces that need no daemon. */
export async function readCommands({ composition, tenant }: Pick<Views, 'composition' | 'tenant'>) {
  const { installation } = composition;
  const [table, json] = [
    await runProgram(['status'], { installation }),
    await runProgram(['status', '--json'], { installation }),
  ];
  return {
    status: { ...ofTable(table.out, tenant), result: table.code },
    'status --json': { ...ofJson(json.out, tenant), result: json.code },
  };
}

/** Reads every interface. */
export async function readSurfaces({ composition, tenant, operator, skins }: Views): Promise<Told> {
  const { app, assistant } = skins ?? (await openSkins(composition, openStatuses()));
  const commands = await readCommands({ composition, tenant });
  const [overview, page] = [await app.inject('/'), await app.inject(`/tenants/${tenant}`)];
  const listed = (await app.inject('/api/v1/problems')).json() as { problems: Problem[] };
  const one = (await app.inject(`/api/v1/tenants/${tenant}`)).json() as { sync: string; health: string };
  const [state, problems] = await Promise.all(
    ['status', 'problems'].map(async (name) => {
      const args = name === 'status' ? { tenant } : {};
      return (await assistant.callTool({ name, arguments: args })).structuredContent;
    }),
  );
  const [ready, metrics] = [await operator('/readyz'), await operator('/metrics')];
  return {
    ...commands,
    Overview: ofPage(overview, tenant),
    'tenant page': ofPage(page, tenant),
    API: { sync: one.sync, health: one.health, codes: codesOf(listed.problems) },
    MCP: {
      ...syncHealthOf((state as { tenants: { sync: string; health: string }[] }).tenants[0]),
      codes: codesOf((problems as { problems: Problem[] }).problems),
    },
    '/readyz': {
      codes: codesOf((JSON.parse(ready.body) as { problems: Problem[] }).problems),
      result: ready.status,
    },
    '/metrics': ofMetrics(metrics.body, tenant),
  };
}

/** What the table of faults in docs/runbook.md says of a fault of the installation; hosts and numbers vary. */
export function tabled(code: string): Pick<Fault, 'code' | 'health' | 'sentence' | 'next'> | undefined {
  const fault: Fault | undefined = Object.values(INSTALLATION_FAULTS).find((one) => one.code === code);
  return fault && shapeOf(fault);
}

/** The part of a problem that the table of faults states. */
export function shapeOf({ code, health, sentence, next }: Pick<Fault, 'code' | 'health' | 'sentence' | 'next'>) {
  return { code, health, sentence: sentence.replace(/: .*\(pid.*/, ': <daemons>').replace(/\b\d+ s\b/, '<n> s'), next };
}

/** Interfaces that differ from the status as JSON, each with what it says. Empty: all agree. */
export function disagreements(told: Pick<Told, 'status --json'> & Partial<Told>): string[] {
  const truth = told['status --json'];
  const stops = truth.codes.some((code) => stopsInstallation({ tenant: null, code }));
  return Object.entries(told).flatMap(([surface, said]) => {
    const parts = Object.entries(expectedOf(surface, truth, stops)).filter(
      ([part, value]) => JSON.stringify(Reflect.get(said, part)) !== JSON.stringify(value),
    );
    return parts.map(
      ([part, value]) => `${surface}: ${part} ${JSON.stringify(Reflect.get(said, part))}, not ${JSON.stringify(value)}`,
    );
  });
}

/** One fault and what each interface says, in lines of at most 100 characters. */
export function renderTold(fault: string, told: Told): string {
  const lines = Object.entries(told).map(([surface, { sync = '', health = '', codes, result = '' }]) =>
    `  ${surface.padEnd(14)}${sync.padEnd(9)}${health.padEnd(17)}${String(result).padEnd(5)}${codes.join(' ')}`.slice(
      0,
      100,
    ),
  );
  return [fault.slice(0, 100), ...lines].join('\n');
}

/** A page of a clinic has the problems of the clinic only; readiness has no state of a clinic. */
function expectedOf(surface: string, { sync, health, codes, own }: Said, stops: boolean): object {
  switch (surface) {
    case '/readyz':
      return { codes, result: stops ? 503 : 200 };
    case 'tenant page':
      return { sync, health, codes: own };
    case 'status':
    case 'status --json':
      return { sync, health, codes, result: stops ? 1 : 0 };
    default:
      return { sync, health, codes };
  }
}

function syncHealthOf(found: { sync: string; health: string } | undefined) {
  return { sync: found?.sync, health: found?.health };
}

function ofJson(out: string, tenant: string): Said {
  const { tenants, problems } = JSON.parse(out) as {
    tenants: { tenant: string; sync: string; health: string }[];
    problems: Problem[];
  };
  const own = problems.filter((each) => each.tenant === tenant || each.tenants?.some((one) => one.tenant === tenant));
  return {
    ...syncHealthOf(tenants.find((each) => each.tenant === tenant)),
    codes: codesOf(problems),
    own: codesOf(own),
  };
}

function ofTable(out: string, tenant: string): Said {
  const [problems = ''] = out.split(new RegExp(`^${tenant}  `, 'm'));
  const [, step, able] = /^ +sync: ([\w ]+).*?; health: ([\w ]+)$/m.exec(out.replaceAll(/\n {4,}/g, ' ')) ?? [];
  const sync = [...WORDS].find(([word]) => step?.startsWith(word))?.[1];
  return { sync, health: keyOf(able), codes: sorted(matches(problems, /\(([a-z]+(?:-[a-z]+)+)\)/g)) };
}

/** The first two words of the clinic, and the codes of the rows of problems. */
function ofPage({ body: page }: { body: string }, tenant: string): Said {
  const own = page.slice(Math.max(0, page.indexOf(`id="${tenant}"`)));
  const [, step] = /class="mark [\w-]+">.*?<\/svg>([^<]+?) *</.exec(own) ?? [];
  const [, able] = /class="able [\w-]+">([^<]+)</.exec(own) ?? [];
  const rows = page.split('<tr').filter((row) => /^[^>]*id="row-problem-/.test(row));
  return {
    sync: keyOf(step),
    health: keyOf(able),
    codes: sorted(rows.flatMap((row) => matches(row, /<code>([a-z-]+)<\/code>/g))),
  };
}

function ofMetrics(text: string, tenant: string): Said {
  const [, sync, health] =
    new RegExp(`^clinic_mirror_tenant_state\\{tenant="${tenant}",sync="([\\w-]+)",health="([\\w-]+)"\\} 1$`, 'm').exec(
      text,
    ) ?? [];
  return { sync, health, codes: sorted(matches(text, /^clinic_mirror_problems\{[^}]*code="([\w-]+)"\} [1-9]/gm)) };
}
