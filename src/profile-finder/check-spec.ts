import type { ClinicProfile } from '../clinic/schema/profile.ts';
import { compareSpecification } from './specification/compare.ts';
import type { Finding } from './specification/findings.ts';
import { propose } from './specification/propose.ts';
import { readSpecification } from './specification/specification.ts';

/** A clinic's API against a profile, as people see it. */
export interface ProfileCheck {
  /** Nothing differs; what could not be decided is no difference. */
  fits: boolean;
  findings: readonly Finding[];
  /** YAML of a profile that says what was found; it loads as it is. */
  proposedProfile: string;
  /** Places whose findings no profile can hold together. */
  leftOut: readonly string[];
  /** What could not be read. */
  remarks: readonly string[];
}

/**
 * Compares a clinic's own OpenAPI document with a profile.
 * @param document its text, JSON or YAML
 * @throws MirrorError `settings`, codes `spec-too-large`, `spec-unreadable`, `spec-not-openapi`
 */
export function checkSpecification(document: string, profile: ClinicProfile): ProfileCheck {
  const specification = readSpecification(document);
  const { findings, changes } = compareSpecification(specification, profile);
  const { yaml, leftOut } = propose(profile, changes);
  const fits = findings.every(({ verdict }) => verdict !== 'differs');
  return { fits, findings, proposedProfile: yaml, leftOut, remarks: specification.remarks };
}
