import type { Command } from 'commander';
import type { StateProbe } from '../control/doctor.ts';
import type { Finding } from '../control/findings.ts';
import type { Installation } from '../control/installation.ts';
import { toJson } from '../operations/schemas.ts';
import { stateWord } from './paper.ts';
import { wrap } from './table.ts';

/** What the command needs of the command line. */
export interface DoctorCommand {
  /** Also over a Redis that is not as it must be. */
  withState(
    only: string | undefined,
    work: (installation: Installation, state: StateProbe) => Promise<void>,
  ): Promise<void>;
  out(text: string): void;
  signal: AbortSignal;
  exit(code: number): void;
}

const SIGNS = { ok: 'ok', warning: 'warning', problem: 'PROBLEM', 'not-asked': 'not asked' } as const;

/** Adds `doctor`, which ends with 1 when there is a problem. */
export function addDoctor(program: Command, options: DoctorCommand): void {
  program
    .command('doctor [tenant]')
    .description(
      'ask Redis, clinics and targets whether work can go on, change nothing, and say what to do in which order',
    )
    .option('--json', 'as JSON')
    .action((tenant: string | undefined, { json = false }: { json?: boolean }) =>
      askAll(options, tenant, json).then((findings) => {
        if (json) options.out(toJson({ findings }));
      }),
    );
}

/**
 * Asks everything that work depends on, and prints what is found unless it `isSilent`. Ends with 1 when there is a problem.
 * @throws MirrorError `settings`, code `no-such-tenant`
 */
export async function askAll(
  { withState, out, signal, exit }: DoctorCommand,
  tenant: string | undefined,
  isSilent: boolean,
): Promise<Finding[]> {
  const findings: Finding[] = [];
  await withState(tenant, async (installation, state) => {
    const { examine } = await import('../control/doctor.ts');
    for await (const finding of examine(installation, state, { only: tenant }, signal)) {
      findings.push(finding);
      if (!isSilent) out(renderFinding(finding));
    }
  });
  if (!isSilent) out(renderEnd(findings));
  if (findings.some(({ result }) => result === 'problem')) exit(1);
  return findings;
}

/** What was found, in a line or two. */
function renderFinding({ tenant, subject, result, what, code }: Finding): string {
  const who = tenant === null ? subject : `${tenant}, ${subject}`;
  const [first = '', ...more] = wrap(`${who}: ${what}${code === null ? '' : ` (${code})`}`, '           ').split('\n');
  return [stateWord(SIGNS[result].padEnd(11)) + first.trimStart(), ...more].join('\n');
}

/** What to do, in order; all is well where there is nothing. */
function renderEnd(findings: readonly Finding[]): string {
  const isWell = findings.every(({ result }) => result !== 'problem');
  const head = isWell ? ['', 'Nothing stands in the way.'] : [];
  const toDo = findings.filter(({ result }) => result === 'problem' || result === 'warning');
  if (toDo.length === 0) return head.join('\n');
  const steps = toDo.map(({ tenant, subject, next, code }, index) => {
    const who = tenant === null ? subject : `${tenant}, ${subject}`;
    const what = next ?? `see ${code ?? subject} in docs/errors.md`;
    const head = wrap(`${index + 1}. ${who}:`, '');
    return `${head}\n   ${/^(?:clinic-mirror|chmod) /.test(what) ? what : wrap(what, '   ').trimStart()}`;
  });
  return [...head, '', 'What to do, in this order:', ...steps].join('\n');
}
