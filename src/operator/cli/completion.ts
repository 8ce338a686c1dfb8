import { Argument, type Command, type Option } from 'commander';

/** Names in the configuration files. Unreadable files are ignored, because completion must not print errors. */
export interface ConfiguredNames {
  tenants(): readonly string[];
  targets(tenant: string): readonly string[];
  /** Includes the connection to the clinic. */
  connections(tenant: string): readonly string[];
}

/** Functions that the command line supplies to `completion`. */
export interface CompletionCommand {
  /** @param directory configuration directory in the typed words */
  names(directory: string | undefined): Promise<ConfiguredNames>;
  out(text: string): void;
}

const SHELLS = ['bash', 'zsh', 'fish'] as const;

/** Each script calls the program with the typed words, so only the program knows the completions. */
const SCRIPTS: Readonly<Record<(typeof SHELLS)[number], string>> = {
  bash: `_clinic_mirror() {
  local IFS=$'\\n'
  COMPREPLY=($(clinic-mirror completion bash -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _clinic_mirror clinic-mirror`,
  zsh: `#compdef clinic-mirror
_clinic_mirror() {
  local -a found
  found=("\${(@f)$(clinic-mirror completion zsh -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  (( \${#found[1]} )) && compadd -- $found || _files
}
compdef _clinic_mirror clinic-mirror`,
  fish: `function __clinic_mirror
  set -l words (commandline -opc) (commandline -ct)
  clinic-mirror completion fish -- $words[2..-1] 2>/dev/null
end
complete -c clinic-mirror -a '(__clinic_mirror)'`,
};

/** Adds `completion`. */
export function addCompletion(program: Command, { names, out }: CompletionCommand): void {
  program
    .command('completion')
    .addArgument(new Argument('<shell>', 'shell to complete for').choices(SHELLS))
    .argument('[words...]', 'after --: the words of the command line; prints completions for the last word')
    .description('print a completion script for commands, options, tenants and targets')
    .action(async (shell: (typeof SHELLS)[number], words: string[]) => {
      if (words.length === 0) return out(SCRIPTS[shell]);
      const found = await completionsOf(program, words, names);
      if (found.length > 0) out(found.join('\n'));
    });
}

/** Lists completions of the last word. */
export async function completionsOf(
  program: Command,
  words: readonly string[],
  names: CompletionCommand['names'],
): Promise<string[]> {
  const last = words.at(-1) ?? '';
  const { command, words: ownWords, awaiting, directory } = walk(program, words.slice(0, -1));
  const readNames = () => names(directory);
  const possible = async (): Promise<readonly string[]> => {
    if (awaiting !== null)
      return awaiting.argChoices ?? (awaiting.long === '--tenant' ? (await readNames()).tenants() : []);
    if (last.startsWith('-')) return [...program.options, ...command.options].flatMap(({ long }) => long ?? []);
    const verbs = command.commands.map((each) => each.name());
    return ownWords.length > 0
      ? valuesOf(command, ownWords, readNames)
      : [...verbs, ...(await valuesOf(command, ownWords, readNames))];
  };
  return [...new Set(await possible())].filter((word) => word.startsWith(last)).toSorted();
}

interface Walked {
  command: Command;
  /** Arguments typed so far. */
  words: string[];
  /** Option that expects a value. */
  awaiting: Option | null;
  directory: string | undefined;
}

function walk(program: Command, words: readonly string[]): Walked {
  const walked: Walked = { command: program, words: [], awaiting: null, directory: undefined };
  for (const word of words) {
    if (walked.awaiting !== null) {
      if (walked.awaiting.long === '--config') walked.directory = word;
      walked.awaiting = null;
    } else if (word.startsWith('-')) {
      const option = [...program.options, ...walked.command.options].find(
        ({ short, long }) => word === short || word === long,
      );
      walked.awaiting = option?.required === true ? option : null;
    } else {
      const next = walked.words.length > 0 ? undefined : walked.command.commands.find((each) => each.name() === word);
      if (next === undefined) walked.words.push(word);
      else walked.command = next;
    }
  }
  return walked;
}

/** Lists values of the next argument. A group with an optional verb completes as `show`. */
async function valuesOf(
  command: Command,
  typedArguments: readonly string[],
  readNames: () => Promise<ConfiguredNames>,
): Promise<readonly string[]> {
  const meant =
    command.registeredArguments.length > 0 ? command : command.commands.find((each) => each.name() === 'show');
  const argument = meant?.registeredArguments[typedArguments.length];
  const tenantIndex = meant?.registeredArguments.findIndex((one) => one.name() === 'tenant') ?? -1;
  const tenant = typedArguments[tenantIndex] ?? '';
  switch (argument?.name()) {
    case 'tenant':
      return (await readNames()).tenants();
    case 'target':
      return (await readNames()).targets(tenant);
    case 'connection':
      return (await readNames()).connections(tenant);
    default:
      return argument?.argChoices ?? [];
  }
}
