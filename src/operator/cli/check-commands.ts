import type { Command } from 'commander';
import { toJson } from '../../core/model/schemas.ts';
import type { StateProbe } from '../control/doctor.ts';
import type { inEnglish } from '../control/findings.ts';
import type { Installation } from '../control/installation.ts';
import { type Asked, type Print, stateWord } from './output.ts';
import { wrap } from './table.ts';

/** Functions that the command line supplies to `doctor`. */
export interface DoctorCommand {
  /** Works even if Redis is misconfigured. */
  withState(
    only: string | undefined,
    work: (installation: Installation, state: StateProbe) => Promise<void>,
  ): Promise<void>;
  out(text: string): void;
  signal: AbortSignal;
  exit(code: number): void;
}

type EnglishFinding = ReturnType<typeof inEnglish>;

const SIGNS = { ok: 'ok', warning: 'warning', problem: 'PROBLEM', 'not-asked': 'not checked' } as const;
const SIGN_WIDTH = 12;

/** Adds `doctor`, which exits with code 1 if there is a problem. */
export function addDoctor(program: Command, options: DoctorCommand): void {
  program
    .command('doctor [tenant]')
    .description('check Redis, clinics and targets, and list the steps to fix problems')
    .option('--json', 'print JSON')
    .action((tenant: string | undefined, { json = false }: { json?: boolean }) =>
      askAll(options, tenant, json).then((findings) => {
        if (json) options.out(toJson({ findings }));
      }),
    );
}

/**
 * Examines all dependencies of the daemon. Prints the findings unless `isSilent`. Exits with code 1 if there is a problem.
 * @throws MirrorError `settings`, code `no-such-tenant`
 */
async function askAll(
  { withState, out, signal, exit }: DoctorCommand,
  tenant: string | undefined,
  isSilent: boolean,
): Promise<EnglishFinding[]> {
  const findings: EnglishFinding[] = [];
  await withState(tenant, async (installation, state) => {
    const { examine } = await import('../control/doctor.ts');
    const { inEnglish } = await import('../control/findings.ts');
    for await (const finding of examine(installation, state, { only: tenant }, signal)) {
      const english = inEnglish(finding);
      findings.push(english);
      if (!isSilent) out(renderFinding(english));
    }
  });
  if (!isSilent) out(renderEnd(findings));
  if (findings.some(({ result }) => result === 'problem')) exit(1);
  return findings;
}

/** Renders a finding in one or two lines. */
function renderFinding({ tenant, subject, result, what, code }: EnglishFinding): string {
  const who = tenant === null ? subject : `${tenant}, ${subject}`;
  const [first = '', ...more] = wrap(
    `${who}: ${what}${code === null ? '' : ` (${code})`}`,
    ' '.repeat(SIGN_WIDTH),
  ).split('\n');
  return [stateWord(SIGNS[result].padEnd(SIGN_WIDTH)) + first.trimStart(), ...more].join('\n');
}

/** Renders the next steps in order, or the result without problems. */
function renderEnd(findings: readonly EnglishFinding[]): string {
  const isWell = findings.every(({ result }) => result !== 'problem');
  const head = isWell ? ['', 'No problems found.'] : [];
  const toDo = findings.filter(({ result }) => result === 'problem' || result === 'warning');
  if (toDo.length === 0) return head.join('\n');
  const steps = toDo.map(({ tenant, subject, next, code }, index) => {
    const who = tenant === null ? subject : `${tenant}, ${subject}`;
    const what = next ?? `clinic-mirror why ${code ?? subject}`;
    const head = wrap(`${index + 1}. ${who}:`, '');
    return `${head}\n   ${/^(?:clinic-mirror|chmod) /.test(what) ? what : wrap(what, '   ').trimStart()}`;
  });
  return [...head, '', 'Fix in this order:', ...steps].join('\n');
}

/** Functions that the command line supplies to `config`. */
export interface ConfigCommand extends DoctorCommand {
  /** Checks the configuration, which is usable without faults. */
  check(): Promise<{ faults: readonly object[]; warnings: readonly object[]; text: string }>;
  print: Print;
}

/** Adds `config check`. Exit code 2: files have faults. Exit code 1: a configured server does not answer. */
export function addConfig(program: Command, options: ConfigCommand): void {
  program
    .command('config')
    .description('check the configuration')
    .command('check')
    .description('check every configuration file and list every fault')
    .option('--live [tenant]', 'also check Redis, clinics, targets and configured ids, for one tenant or every tenant')
    .option('--json', 'print JSON')
    .action(async ({ live = false, ...asked }: Asked & { live?: string | boolean }) => {
      const { faults, warnings, text } = await options.check();
      const ok = faults.length === 0;
      if (!ok) options.exit(2);
      if (!ok || live === false) return options.print(asked, { ok, faults, warnings }, () => text);
      if (asked.json !== true) options.out(`${text}\n`);
      const findings = await askAll(options, live === true ? undefined : live, asked.json === true);
      const isWell = findings.every(({ result }) => result !== 'problem');
      if (asked.json === true) options.print(asked, { ok: isWell, faults, warnings, findings }, () => '');
    });
}
