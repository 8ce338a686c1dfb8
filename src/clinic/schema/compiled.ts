import type { ClinicProfile } from './profile.ts';

/** Makes something of a profile; names of its parts may follow. */
type Compile<Made, Names extends readonly string[]> = (profile: ClinicProfile, ...names: Names) => Made;

/** What is made of one profile, such as the mapping of its rows: once for all tenants under it, when it is first used. */
export class CompiledProfile {
  readonly #profile: ClinicProfile;
  readonly #made = new Map<Compile<unknown, never>, Map<string, unknown>>();

  constructor(profile: ClinicProfile) {
    this.#profile = profile;
  }

  /** @param compile pure, and the same function each time */
  of<Made, Names extends readonly string[]>(compile: Compile<Made, Names>, ...names: Names): Made {
    const made = this.#made.get(compile) ?? new Map<string, unknown>();
    this.#made.set(compile, made);
    const name = names.join(' ');
    if (!made.has(name)) made.set(name, compile(this.#profile, ...names));
    return made.get(name) as Made;
  }
}
