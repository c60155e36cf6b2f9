CREATE INDEX "backups_by_status" ON "backups" USING btree ("organization_id","status","id");--> statement-breakpoint
CREATE INDEX "backups_by_trigger" ON "backups" USING btree ("organization_id","trigger","id");--> statement-breakpoint
CREATE INDEX "backups_by_type" ON "backups" USING btree ("organization_id","type","id");