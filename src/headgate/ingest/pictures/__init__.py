"""Pictures of things: previews of images, drawings of models, posters of videos.

Everything here is plain and synchronous, meant for a limited subprocess: paths and figures in, a value out.
"""
