/** The project or its organization is deleted. Not a failure; tried again later. */
export class NothingToCapture extends Error {}
