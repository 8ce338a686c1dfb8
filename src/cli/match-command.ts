import { type Command, Option } from 'commander';
import type { Installation } from '../control/installation.ts';
import type { Acting } from '../control/recording.ts';
import type { Progress } from '../model/progress.ts';
import { type Asked, type Print, zoneOf } from './answer.ts';
import { renderMatches, renderMatchResult } from './render-match.ts';

/** What the command needs of the command line. */
export interface MatchCommand {
  withInstallation(work: (installation: Installation, acting: Acting) => Promise<void>): Promise<void>;
  print: Print;
  progress(): Progress & { end(): void };
  /** A file's text. */
  read(file: string): Promise<string>;
  /** Makes a file that only its owner may read; one that is there stays as it is, and that is thrown. */
  write(file: string, content: string): Promise<void>;
  signal: AbortSignal;
  exit(code: number): void;
}

interface Choice extends Asked {
  out?: string;
  apply?: string;
  undo?: string;
}

/** Adds `match`, which exits with 1 when something of a file was left as it is. */
export function addMatch(program: Command, given: MatchCommand): void {
  const others = (name: string) => ['out', 'apply', 'undo'].filter((one) => one !== name);
  program
    .command('match <tenant> <target>')
    .description('find contacts that were in a CRM before and look like patients; a person decides in a file')
    .addOption(new Option('--out <file>', 'write the pairs, with patient data, to a new file').conflicts(others('out')))
    .addOption(
      new Option('--apply <file>', 'give the contacts approved in it to their patients').conflicts(others('apply')),
    )
    .addOption(
      new Option('--undo <file>', 'take them back: what a sync wrote into them stays').conflicts(others('undo')),
    )
    .option('--json', 'as JSON, without patient data')
    .action((tenant: string, target: string, choice: Choice) =>
      given.withInstallation(async (installation, acting) => {
        const progress = given.progress();
        await match(installation, acting, { tenant, target }, choice, { ...given, progress: () => progress }).finally(
          () => progress.end(),
        );
      }),
    );
}

async function match(
  installation: Installation,
  acting: Acting,
  ids: { tenant: string; target: string },
  { out, apply, undo, ...asked }: Choice,
  { print, read, write, progress, signal, exit }: MatchCommand,
): Promise<void> {
  const file = apply ?? undo;
  if (file === undefined) {
    const { proposeMatches } = await import('../control/match.ts');
    const found = await proposeMatches(installation, ids.tenant, ids.target, progress(), signal);
    if (out !== undefined) await write(out, found.file);
    return print(asked, found.view, () => renderMatches(found.view, out ?? null), zoneOf(installation, ids.tenant));
  }
  const { applyMatches, undoMatches } = await import('../control/acts.ts');
  const carryOut = apply === undefined ? undoMatches : applyMatches;
  const result = await carryOut(acting, installation, ids, await read(file), progress(), signal);
  print(asked, result, () => renderMatchResult(result, apply === undefined ? 'undo' : 'apply'));
  if (result.refused.length > 0) exit(1);
}
