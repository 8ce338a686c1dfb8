import type { Command } from 'commander';
import { OPERATIONS } from '../features/operations.ts';
import type { AnyOperation } from '../operations/operation.ts';

/** What the command line ends with, whatever the command. */
export const EXIT_CODES = {
  0: 'done; of what only looks: it could be told, whatever it is',
  1: 'something failed, was refused, is left to do or needs a person; or the command line is not understood',
  2: 'the settings, or the file of the tenant that is named, have faults',
  130: 'ended by Ctrl-C',
} as const;

/** When commands end with 1 although they could do what they were asked, by their usage. */
const ENDS_WITH_ONE: Readonly<Record<string, string>> = {
  'check-spec': 'the document differs from the profile, or leaves something to decide',
  'clinic probe': 'the clinic answers otherwise than the profile says',
  'config check': 'with --live something does not answer, or an id is not known to the clinic',
  doctor: 'something is in the way',
  forget: 'not all is erased yet',
  login:
    'a permission was not granted, the account waits for accept-account, or whether the user can be used is not known',
  match: 'something of the file was left as it is',
};

/** Commands that do something, with their words, in the order in which the help has them; not those that only hold others. */
export function commandsOf(command: Command, before = ''): { words: string; command: Command }[] {
  const words = before === '' ? command.name() : `${before} ${command.name()}`;
  if (command.commands.length === 0) return [{ words, command }];
  return command.commands.flatMap((each) => commandsOf(each, words));
}

/** When a command ends with 1 beside failing; null: never. @param words with the program's name before it */
export function endsWithOne(words: string): string | null {
  const command = words.slice(words.indexOf(' ') + 1);
  const operation = Object.values(OPERATIONS as Record<string, AnyOperation>).find(({ commands }) =>
    commands.some((binding) => binding.words.replaceAll(/ [<[].*/g, '') === command),
  );
  return operation?.endsWithOne?.when ?? ENDS_WITH_ONE[command] ?? null;
}

/** Says in each command's help when it ends with 1. */
export function describeExitCodes(program: Command): void {
  for (const { words, command } of commandsOf(program)) {
    const when = endsWithOne(words);
    if (when !== null) command.addHelpText('after', `\nEnds with 1 when ${when}.`);
  }
}
