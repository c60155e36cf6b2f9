/** The project or its organization is gone for now: looked at again later, and no failure. */
export class NothingToCapture extends Error {}
