/** A start that cannot go on, in one sentence that tells what to change. */
export class StartFailure extends Error {
  override name = 'StartFailure';
}
